#include "services/worker/program/program_agent.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/job/names.h"
#include "common/log/log.h"
#include "common/plain_name.h"
#include "common/rpc/grpc_status.h"
#include "common/status.h"
#include "services/worker/program/program_computation.h"
#include "services/worker/program/program_messages.h"

namespace paceline {

absl::StatusOr<std::unique_ptr<ProgramAgent>> ProgramAgent::Create(
    Options options) {
  PACELINE_RETURN_IF_ERROR(CheckPlainName("--program", options.name));
  auto agent = absl::WrapUnique(new ProgramAgent(std::move(options)));
  PACELINE_RETURN_IF_ERROR(agent->Listen());
  return agent;
}

absl::Status ProgramAgent::Listen() {
  std::string path = options_.socket;
  if (path.empty() && !options_.command.text.empty()) {
    PACELINE_ASSIGN_OR_RETURN(folder_, PrivateFolder::Make());
    path = folder_->path() + "/program.sock";
  } else if (path.empty()) {
    path = std::string(kProgramSocket);
    // What cannot be made the socket misses.
    std::error_code ignored;
    std::filesystem::create_directory(std::filesystem::path(path).parent_path(),
                                      ignored);
  }
  PACELINE_ASSIGN_OR_RETURN(socket_, ProgramSocket::Listen(path, &wake_));
  return absl::OkStatus();
}

ProgramAgent::~ProgramAgent() {
  life_.reset();
  socket_.reset();
}

absl::StatusOr<std::unique_ptr<Computation>> ProgramAgent::Prepare(
    const v1::Assignment& assignment, DType wire,
    const std::function<bool()>& stopped) {
  const std::string wanted = absl::StrCat(kProgramPrefix, options_.name);
  if (assignment.job().model() != wanted) {
    return absl::InvalidArgumentError(absl::StrCat("this worker computes ",
                                                   wanted, " alone, not ",
                                                   assignment.job().model()));
  }
  auto prepared = TryToPrepare(assignment, wire, stopped);
  const absl::Status& status = prepared.status();
  if (status.ok() || absl::IsCancelled(status)) return prepared;
  // No program has come in time: no life of one has failed.
  if (life_ == nullptr && absl::IsDeadlineExceeded(status)) return status;
  return failures_.Ended(assignment.run(), status);
}

absl::StatusOr<std::unique_ptr<Computation>> ProgramAgent::TryToPrepare(
    const v1::Assignment& assignment, DType wire,
    const std::function<bool()>& stopped) {
  LogInfo("waits for a program", {{"socket", socket_->path()}});
  PACELINE_ASSIGN_OR_RETURN(
      life_, ProgramLife::Begin(
                 socket_.get(), options_.command,
                 {.deadline = Clock::Real().Now() + options_.connect_timeout,
                  .stopped = stopped}));
  LogInfo("a program has connected",
          {{"pid", life_->pid()}, {"language", life_->language()}});
  PACELINE_ASSIGN_OR_RETURN(std::unique_ptr<Computation> computation,
                            ProgramComputation::Attach(
                                assignment, options_.worker, options_.evaluator,
                                wire, life_.get(), &failures_, stopped));
  return computation;
}

void ProgramAgent::End(const v1::Stop& stop,
                       const std::function<bool()>& hurried) {
  if (life_ == nullptr) return;
  life_->End(stop.code() == 0
                 ? StopFrame(stop.reason())
                 : RefusedFrame(FromCode(stop.code(), stop.reason())),
             options_.grace, hurried);
  life_.reset();
}

}  // namespace paceline
