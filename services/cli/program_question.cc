#include "services/cli/program_question.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/job/job_defaults.h"
#include "common/job/optimizer_spec.h"
#include "common/rpc/wire_format.h"
#include "common/status.h"
#include "services/worker/program/private_folder.h"
#include "services/worker/program/program_life.h"
#include "services/worker/program/program_messages.h"
#include "services/worker/program/program_socket.h"
#include "services/worker/program/wake_up.h"

namespace paceline {
namespace {

constexpr char kWhere[] = "before it attached";

// What an agent would say to a trainer.
std::string JobFrameOf(const v1::JobSpec& spec) {
  ProgramJob job;
  job.job = "run";
  job.worker = "w0";
  job.arguments = {spec.arguments().begin(), spec.arguments().end()};
  job.seed = spec.seed();
  job.batch_size =
      spec.batch_size() > 0 ? spec.batch_size() : kDefaultBatchSize;
  job.micro_batch =
      spec.micro_batch() > 0 ? spec.micro_batch() : job.batch_size;
  job.wire = std::string(
      DTypeName(HeldAs(FromWire(spec.wire()).value_or(DType::kF32))));
  job.optimizer = WithoutStaleness(spec.optimizer());
  job.learning_rate = spec.learning_rate();
  job.data = spec.data();
  return JobFrame(job);
}

absl::StatusOr<ProgramAttach> AwaitAttach(ProgramLife& life,
                                          const v1::JobSpec& spec,
                                          const ProgramPatience& patience) {
  PACELINE_RETURN_IF_ERROR(life.Send(JobFrameOf(spec), patience, kWhere));
  PACELINE_ASSIGN_OR_RETURN(const ProgramFrame frame,
                            life.Receive(patience, kWhere));
  if (frame.kind != FrameKind::kAttach) {
    return life.Refuse(absl::InvalidArgumentError(
        absl::StrCat("the program answered `job` with `", FrameName(frame.kind),
                     "`, not with `attach`")));
  }
  absl::StatusOr<ProgramAttach> attach =
      ParseAttach(frame.body, /*evaluator=*/false);
  if (!attach.ok()) return life.Refuse(attach.status());
  if (attach->optimizer.has_value()) {
    const absl::Status known = ParseOptimizerSpec(*attach->optimizer).status();
    if (!known.ok()) {
      return life.Refuse(Annotate(known, "the program's optimizer"));
    }
  }
  return attach;
}

}  // namespace

absl::StatusOr<ProgramAnswer> AskProgram(const ProgramQuestion& question) {
  const ProgramPatience patience = {
      .deadline = Clock::Real().Now() + question.patience,
      .stopped = question.stopped};
  PACELINE_ASSIGN_OR_RETURN(const auto folder, PrivateFolder::Make());
  const WakeUp wake;
  PACELINE_ASSIGN_OR_RETURN(
      const auto socket,
      ProgramSocket::Listen(absl::StrCat(folder->path(), "/program.sock"),
                            &wake));
  PACELINE_ASSIGN_OR_RETURN(
      const auto life, ProgramLife::Begin(socket.get(),
                                          {.text = question.command,
                                           .log = question.log,
                                           .environment = question.environment},
                                          patience));
  PACELINE_ASSIGN_OR_RETURN(ProgramAttach attach,
                            AwaitAttach(*life, question.job, patience));
  return ProgramAnswer{.optimizer = std::move(attach.optimizer).value_or(""),
                       .learning_rate = attach.learning_rate.value_or(0),
                       .train_samples = attach.train_samples};
}

v1::JobSpec FilledIn(v1::JobSpec spec, const ProgramAnswer& answer) {
  if (spec.optimizer().empty()) spec.set_optimizer(answer.optimizer);
  if (spec.learning_rate() == 0) spec.set_learning_rate(answer.learning_rate);
  return spec;
}

}  // namespace paceline
