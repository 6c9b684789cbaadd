#include "services/coordinator/run/journal/run_events.h"

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "common/check.h"
#include "common/job/job_plan.h"
#include "common/job/paradigm_spec.h"
#include "common/overloaded.h"
#include "common/rpc/grpc_status.h"
#include "common/status.h"
#include "services/coordinator/run/checkpoint_files.h"
#include "services/coordinator/run/wire.h"

namespace paceline {
namespace {

using journal::RunEvent;

absl::Status FromRpc(const google::rpc::Status& status) {
  return FromCode(status.code(), status.message());
}

absl::StatusOr<std::optional<RunInput>> FromWire(
    const journal::FilesOpened& wire) {
  FilesOpened opened;
  opened.status = FromRpc(wire.status());
  opened.start.version = wire.version();
  opened.start.position = paceline::FromWire(wire.position());
  opened.start.seconds = wire.seconds();
  opened.start.weights_only = wire.weights_only();
  PACELINE_ASSIGN_OR_RETURN(opened.start.tensors,
                            paceline::FromWire(wire.tensors()));
  return opened;
}

ServerReturned FromWire(const journal::ServerReturned& wire) {
  ServerReturned returned;
  returned.server = wire.server();
  returned.as = {wire.as().name(), wire.as().failure_domain(),
                 wire.as().replicates()};
  for (const v1::HeldShard& held : wire.held()) {
    returned.held.push_back(
        {static_cast<int>(held.shard()), held.epoch(), held.backup()});
  }
  return returned;
}

using MaybeInput = absl::StatusOr<std::optional<RunInput>>;

WorkerId WorkerOf(uint64_t worker) { return static_cast<WorkerId>(worker); }

// Nothing for events of other kinds, as the next three.
MaybeInput MemberInput(const RunEvent& event) {
  if (event.has_came()) {
    const v1::WorkerHello& hello = event.came().hello();
    return MemberCame{WorkerOf(event.came().worker()), hello.name(),
                      event.came().incarnation(), hello.evaluator()};
  }
  if (event.kind_case() != RunEvent::kGone) return std::nullopt;
  return MemberGone{WorkerOf(event.gone()), LossReason::kStreamBroken,
                    absl::OkStatus()};
}

MaybeInput ServerInput(const RunEvent& event) {
  switch (event.kind_case()) {
    case RunEvent::kServerCame:
      return ServerCame{{event.server_came().name(),
                         event.server_came().failure_domain(),
                         event.server_came().replicates()}};
    case RunEvent::kServerLost:
      return ServerLost{event.server_lost().server(),
                        FromRpc(event.server_lost().why())};
    case RunEvent::kServerLeaves:
      return ServerLeaves{event.server_leaves().server(),
                          event.server_leaves().leaving()};
    case RunEvent::kServerLinked:
      return ServerLinkChanged{event.server_linked().server(),
                               event.server_linked().link(),
                               event.server_linked().connected()};
    case RunEvent::kServerReturned:
      return FromWire(event.server_returned());
    default:
      return std::nullopt;
  }
}

MaybeInput AnswerInput(const RunEvent& event) {
  switch (event.kind_case()) {
    case RunEvent::kOpened:
      return FromWire(event.opened());
    case RunEvent::kAdmitted:
      return ParametersAdmitted{FromRpc(event.admitted())};
    case RunEvent::kEvaluator:
      return EvaluatorKnown{event.evaluator().exists(),
                            event.evaluator().why_none()};
    case RunEvent::kManifest:
      return ManifestWritten{event.manifest().id(),
                             FromRpc(event.manifest().status())};
    case RunEvent::kFilesRemoved:
      return FilesRemoved{event.files_removed()};
    default:
      return std::nullopt;
  }
}

// And that the coordinator has restarted.
MaybeInput OrderInput(const RunEvent& event) {
  switch (event.kind_case()) {
    case RunEvent::kCancel:
      return CancelRun{FromRpc(event.cancel())};
    case RunEvent::kPauseNs:
      return PauseRun{absl::Nanoseconds(event.pause_ns())};
    case RunEvent::kResume:
      return ResumeRun{};
    case RunEvent::kUpdate: {
      PACELINE_ASSIGN_OR_RETURN(const JobPlan plan, ParseJob(event.update()));
      return UpdateRun{ToRunSettings(plan)};
    }
    case RunEvent::kParadigm: {
      PACELINE_ASSIGN_OR_RETURN(const ParadigmSpec paradigm,
                                ParseParadigm(event.paradigm().paradigm()));
      SwitchRun to{paradigm, event.paradigm().reason()};
      to.with_closing = event.paradigm().with_closing();
      if (!event.paradigm().batching().empty()) {
        PACELINE_ASSIGN_OR_RETURN(to.batching,
                                  ParseBatching(event.paradigm().batching()));
      }
      return to;
    }
    case RunEvent::kCheckpoint:
      return WriteCheckpoint{event.checkpoint().id(),
                             event.checkpoint().folder()};
    case RunEvent::kRestarted: {
      CoordinatorRestarted restarted;
      for (const uint64_t worker : event.restarted().awaited()) {
        restarted.awaited.insert(WorkerOf(worker));
      }
      return restarted;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

absl::StatusOr<RunInput> ToInput(
    const RunEvent& event,
    const std::function<std::string(int server)>& name_of) {
  switch (event.kind_case()) {
    case RunEvent::kSaid:
      return ToInput(WorkerOf(event.said().worker()), event.said().message());
    case RunEvent::kServerSaid: {
      const journal::ServerSaid& said = event.server_said();
      return ToInput(said.server(), said.shard(), name_of(said.server()),
                     said.message());
    }
    case RunEvent::kTimePassed:
    // The course hears of it when the worker leaves.
    case RunEvent::kReleased:
      return TimePassed{};
    default:
      break;
  }
  for (const auto of :
       {&MemberInput, &ServerInput, &AnswerInput, &OrderInput}) {
    PACELINE_ASSIGN_OR_RETURN(std::optional<RunInput> input, of(event));
    if (input.has_value()) return *std::move(input);
  }
  return absl::InvalidArgumentError("that event is no input");
}

RunEvent ToEvent(const RunInput& answer) {
  RunEvent event;
  std::visit(
      Overloaded{[&](const FilesOpened& in) {
                   journal::FilesOpened& opened = *event.mutable_opened();
                   *opened.mutable_status() = ToWire(in.status);
                   opened.set_version(in.start.version);
                   *opened.mutable_position() = ToWire(in.start.position);
                   opened.set_seconds(in.start.seconds);
                   opened.set_weights_only(in.start.weights_only);
                   for (const ModelTensor& tensor : in.start.tensors) {
                     *opened.add_tensors() = ToWire(tensor);
                   }
                 },
                 [&](const ParametersAdmitted& in) {
                   *event.mutable_admitted() = ToWire(in.status);
                 },
                 [&](const EvaluatorKnown& in) {
                   event.mutable_evaluator()->set_exists(in.exists);
                   event.mutable_evaluator()->set_why_none(in.why_none);
                 },
                 [&](const ManifestWritten& in) {
                   event.mutable_manifest()->set_id(in.id);
                   *event.mutable_manifest()->mutable_status() =
                       ToWire(in.status);
                 },
                 [&](const FilesRemoved& in) {
                   event.set_files_removed(in.directory);
                 },
                 [](const auto&) { CHECK(false); }},
      answer);
  return event;
}

google::rpc::Status ToWire(const absl::Status& status) {
  google::rpc::Status wire;
  wire.set_code(static_cast<int>(status.code()));
  wire.set_message(std::string(status.message()));
  return wire;
}

}  // namespace paceline
