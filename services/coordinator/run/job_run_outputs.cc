// What a run does about each output of its course.
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/checkpoint/checkpoint_folder.h"
#include "common/log/log.h"
#include "services/coordinator/run/checkpoint_files.h"
#include "services/coordinator/run/job_memory.h"
#include "services/coordinator/run/job_run.h"
#include "services/coordinator/run/journal/run_events.h"
#include "services/coordinator/run/progress_export.h"
#include "services/coordinator/run/wire.h"

namespace paceline {
namespace {

double UnixSeconds() {
  return absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch());
}

std::string StopReason(const RunOutcome& outcome) {
  const std::string why(outcome.status.message());
  if (outcome.status.ok()) return "the job has ended";
  if (absl::IsCancelled(outcome.status) || outcome.left_unsaved) return why;
  return absl::StrCat("the job failed: ", why);
}

// Those whose push a step has counted without releasing them.
absl::btree_set<WorkerId> HeldAfter(absl::Span<const RunOutput> outputs) {
  absl::btree_set<WorkerId> held;
  for (const RunOutput& output : outputs) {
    if (const auto* const counted = std::get_if<PushCounted>(&output)) {
      held.insert(counted->worker);
    } else if (const auto* const grant = std::get_if<Grant>(&output)) {
      held.erase(grant->worker);
    }
  }
  return held;
}

// That it may open to one server.
uint32_t ConnectionsOf(const std::map<WorkerId, LinkedMember>& members,
                       WorkerId worker) {
  const auto found = members.find(worker);
  return found == members.end() ? 0 : found->second.connections;
}

}  // namespace

void JobRun::SendToServer(int server, int shard, v1::ServerCommand command) {
  command.set_run(setup_.run);
  command.set_shard(static_cast<uint32_t>(shard));
  Send([peer = servers_.at(server).stream,
        command = std::move(command)]() mutable {
    if (const auto stream = peer.lock()) stream->Send(std::move(command));
  });
}

void JobRun::FillIn(v1::HostJob& host, int shard) {
  *host.mutable_job() = setup_.plan.spec;
  // The rate of each closing has the gain, so that a server of any release will
  // do.
  if (setup_.plan.round_strength == RoundStrength::kAdaScale) {
    host.mutable_job()->set_round_strength("constant");
  }
  for (const ModelTensor& tensor : course_.model().tensors) {
    *host.add_tensors() = ToWire(tensor);
  }
  *host.mutable_blocks() = servers_.shards()[shard].blocks();
  host.set_epoch(course_.shards().shards()[shard].epoch);
  host.set_traceparent(setup_.traceparent);
  const JobMemory memory =
      MemoryOf(setup_.plan, spec_.workers().max(), course_);
  host.set_rule_bytes(
      static_cast<uint64_t>(course_.shards().shards()[shard].bytes) *
      memory.rule);
}

void JobRun::SendToWorker(WorkerId worker, v1::WorkerCommand command) {
  const auto it = members_.find(worker);
  if (it == members_.end()) return;
  if (replays()) {
    const auto replayed = sessions_.find(worker);
    if (replayed != sessions_.end()) replayed->second.Sent(std::move(command));
    return;
  }
  Send([session = it->second.session, command = std::move(command)]() mutable {
    if (const auto stream = session->Stream()) stream->Send(std::move(command));
  });
}

void JobRun::TellDecision(absl::Time at, std::string whom, std::string kind,
                          std::string text, bool costs_work) {
  if (backlogged()) return filter_.LeaveOut(kind);
  v1::Decision decision;
  decision.set_seconds(course_.SecondsAt(at));
  decision.set_worker(std::move(whom));
  decision.set_omitted(filter_.TakeOmitted(kind));
  decision.set_kind(std::move(kind));
  decision.set_text(std::move(text));
  Tell([this, decision = std::move(decision), costs_work] {
    const nlohmann::json fields = {{"job", setup_.job_name},
                                   {"worker", decision.worker()},
                                   {"decision", decision.kind()}};
    if (costs_work) {
      LogWarning(decision.text(), fields);
    } else {
      LogInfo(decision.text(), fields);
    }
    observer_->Decided(decision);
  });
}

template <>
void JobRun::On(const Grant& grant) {
  SendToWorker(grant.worker, ToWire(grant));
  const RunMember* const member = course_.members().Find(grant.worker);
  const uint32_t own = member == nullptr ? 0 : member->wishes.micro_batch;
  paces_.Granted(grant.worker, course_.SecondsAt(now_), grant.range.size(),
                 MicroBatchLimit(spec_.batch_size(), spec_.micro_batch(), own,
                                 grant.micro_batch));
  record_.Granted(course_.members().NameOf(grant.worker));
  metrics_->grants->Increment();
  metrics_->samples_granted->Increment(grant.range.size());
}

template <>
void JobRun::On(const ExtendCommand& extend) {
  SendToWorker(extend.worker, ToWire(extend));
  paces_.Extended(extend.worker, extend.range.size());
  metrics_->samples_granted->Increment(extend.range.size());
}

template <>
void JobRun::On(const PushCounted& counted) {
  record_.Counted(course_.members().NameOf(counted.worker), counted, now_);
  metrics_->pushes->Increment();
  metrics_->version->Set(static_cast<double>(counted.version));
  metrics_->samples_counted->Increment(counted.samples);
  metrics_->samples_discarded->Increment(counted.discarded);
  metrics_->gap->Observe(static_cast<double>(counted.gap));
  metrics_->staleness->Observe(static_cast<double>(counted.staleness));
  metrics_->last_push_timestamp_seconds->Set(UnixSeconds());
}

template <>
void JobRun::On(const Evicted& evicted) {
  record_.Lost(course_.members().NameOf(evicted.worker));
  metrics_->workers_lost.at(evicted.reason)->Increment();
  if (evicted.reason != LossReason::kNotFinite) return;
  // It lives, and does not know.
  v1::WorkerCommand command;
  command.mutable_stop()->set_reason(
      "its pushes are not finite, those of other workers are");
  command.mutable_stop()->set_code(
      static_cast<int>(absl::StatusCode::kOutOfRange));
  SendToWorker(evicted.worker, std::move(command));
}

template <>
void JobRun::On(const Switched& switched) {
  record_.Switched(switched);
  if (std::exchange(switching_, false)) TellRuleBytes();
  metrics_->Switched(switched.from, switched.to);
  Tell([this, to = switched.to] { observer_->ParadigmSwitched(to); });
  TellDecision(
      switched.at, "job", "switch",
      absl::StrCat("switched from ", switched.from, " to ", switched.to, " (",
                   switched.reason, ") at version ", switched.version, ", ",
                   switched.samples, " samples"),
      /*costs_work=*/false);
}

template <>
void JobRun::On(const SwitchSettled& settled) {
  record_.Settled(settled);
}

template <>
void JobRun::On(const Recorded& recorded) {
  const Decision& decision = recorded.decision;
  metrics_->decisions.at(decision.kind)->Increment();
  // Decisions about the job as a whole name no worker.
  const std::string worker = decision.worker == WorkerId{0}
                                 ? "job"
                                 : course_.members().NameOf(decision.worker);
  record_.Decided(worker, decision);
  const char* const category = filter_.Offer(decision.kind, recorded.at);
  if (category == nullptr) return;
  TellDecision(recorded.at, worker, category, Render(decision),
               CostsWork(decision));
}

template <>
void JobRun::On(const Notice& notice) {
  TellDecision(now_, notice.whom, notice.kind, notice.text, notice.costs_work);
}

template <>
void JobRun::On(const AssignMember& assign) {
  const RunMembers& members = course_.members();
  v1::WorkerCommand command;
  v1::Assignment& wire = *command.mutable_assign();
  wire.set_incarnation(members.IncarnationOf(assign.worker));
  wire.set_run(setup_.run);
  *wire.mutable_job() = spec_;
  wire.set_job_name(setup_.job_name);
  wire.set_traceparent(setup_.traceparent);
  wire.set_lease_ms(
      static_cast<uint32_t>(absl::ToInt64Milliseconds(setup_.lease)));
  SendToWorker(assign.worker, std::move(command));
  if (backlogged()) return;
  Tell([this, name = members.NameOf(assign.worker)] {
    LogInfo("assigned", {{"worker", name}, {"job", setup_.job_name}});
  });
}

template <>
void JobRun::On(const BeginWork& begin) {
  v1::WorkerCommand command;
  *command.mutable_begin() =
      servers_.BeginFor(ConnectionsOf(members_, begin.worker), members_.size());
  command.mutable_begin()->set_initialize(begin.initialize);
  SendToWorker(begin.worker, std::move(command));
}

template <>
void JobRun::On(const MemberLetGo& gone) {
  const auto it = members_.find(gone.worker);
  if (it == members_.end()) return;
  const auto session = std::move(it->second.session);
  members_.erase(it);
  sessions_.erase(gone.worker);
  paces_.Left(gone.worker);
  // With OK it is free, and the stream stays.
  if (gone.status.ok()) return;
  Send([session, status = gone.status] {
    if (const auto stream = session->Stream()) stream->Close(status);
  });
  if (backlogged()) return;
  Tell([this, name = course_.members().NameOf(gone.worker),
        why = std::string(gone.status.message())] {
    LogWarning("let go",
               {{"worker", name}, {"job", setup_.job_name}, {"reason", why}});
  });
}

template <>
void JobRun::On(const NumberedCommand& command) {
  const ShardMap& shards = course_.shards();
  const size_t count = shards.shards().size();
  if (std::holds_alternative<HostBlocks>(command.command)) {
    servers_.Place(course_);
  } else if (std::holds_alternative<CloseCommand>(command.command)) {
    metrics_->closings->Increment();
    if (last_close_.has_value()) {
      metrics_->round_seconds->Observe(
          absl::ToDoubleSeconds(now_ - *last_close_));
    }
    last_close_ = now_;
  } else if (std::holds_alternative<SnapshotCommand>(command.command)) {
    metrics_->snapshots->Increment();
  }
  for (size_t i = 0; i < count; ++i) {
    // It will get what it lacks.
    if (shards.shards()[i].promoting) continue;
    v1::ServerCommand wire = ToWire(command, i, count);
    if (wire.has_host()) {
      v1::HostJob& host = *wire.mutable_host();
      FillIn(host, static_cast<int>(i));
      // A job that has a checkpoint of its own goes on from that.
      const bool weights_only = setup_.restore_from.empty();
      host.set_restore_from(weights_only ? setup_.plan.spec.initial_weights()
                                         : setup_.restore_from);
      host.set_weights_only(weights_only && !host.restore_from().empty());
    }
    SendToServer(shards.shards()[i].primary, static_cast<int>(i),
                 std::move(wire));
  }
}

template <>
void JobRun::On(const AnnounceCommand& announce) {
  const auto& shards = course_.shards().shards();
  for (size_t i = 0; i < shards.size(); ++i) {
    const int server = shards[i].primary;
    if (shards[i].promoting || !servers_.at(server).drains_ahead) continue;
    v1::ServerCommand command;
    *command.mutable_announce() = ToWire(announce);
    SendToServer(server, static_cast<int>(i), std::move(command));
  }
}

template <>
void JobRun::On(const ResendCommands& resend) {
  const auto& shards = course_.shards().shards();
  for (const NumberedCommand& command : resend.commands) {
    SendToServer(shards[resend.shard].primary, resend.shard,
                 ToWire(command, resend.shard, shards.size()));
  }
}

template <>
void JobRun::On(const HostBackup& backup) {
  v1::ServerCommand command;
  v1::HostJob& host = *command.mutable_host();
  FillIn(host, backup.shard);
  host.set_epoch(backup.epoch);
  host.set_backup(true);
  SendToServer(backup.server, backup.shard, std::move(command));
}

template <>
void JobRun::On(const SetBackup& set) {
  v1::ServerCommand command;
  v1::Replicate& replicate = *command.mutable_replicate();
  replicate.set_epoch(set.epoch);
  if (set.backup.has_value()) {
    replicate.set_address(servers_.at(*set.backup).address);
  }
  replicate.set_hold(set.hold);
  SendToServer(set.server, set.shard, std::move(command));
}

template <>
void JobRun::On(const PromoteBackup& promote) {
  v1::ServerCommand command;
  command.mutable_promote()->set_epoch(promote.epoch);
  command.mutable_promote()->set_hold(promote.hold);
  SendToServer(promote.server, promote.shard, std::move(command));
  servers_.Move(promote.shard, promote.server, promote.epoch);
}

template <>
void JobRun::On(const DropShard& drop) {
  v1::ServerCommand command;
  command.mutable_unhost()->set_reason(drop.reason);
  SendToServer(drop.server, drop.shard, std::move(command));
}

template <>
void JobRun::On(const HostRebuilt& rebuilt) {
  v1::ServerCommand command;
  command.set_sequence(rebuilt.sequence);
  v1::HostJob& host = *command.mutable_host();
  FillIn(host, rebuilt.shard);
  host.set_epoch(rebuilt.epoch);
  host.set_restore_from(rebuilt.restore_from);
  host.mutable_rebuild()->set_closing(rebuilt.closing);
  host.mutable_rebuild()->set_snapshot(
      static_cast<uint64_t>(std::max<int64_t>(rebuilt.snapshot, 0)));
  SendToServer(rebuilt.server, rebuilt.shard, std::move(command));
}

template <>
void JobRun::On(const FillFromCopy& fill) {
  v1::WorkerCommand command;
  v1::Rewire& rewire = *command.mutable_rewire();
  rewire.set_shard(static_cast<uint32_t>(fill.shard));
  rewire.set_address(servers_.at(fill.server).address);
  rewire.set_epoch(fill.epoch);
  rewire.set_fill(true);
  rewire.set_connections(servers_.ConnectionsTo(
      fill.server, ConnectionsOf(members_, fill.worker), members_.size()));
  SendToWorker(fill.worker, std::move(command));
}

template <>
void JobRun::On(const ShardMoved& moved) {
  servers_.Move(moved.shard, moved.server, moved.epoch);
  v1::WorkerCommand command;
  v1::Rewire& rewire = *command.mutable_rewire();
  rewire.set_shard(static_cast<uint32_t>(moved.shard));
  rewire.set_address(servers_.at(moved.server).address);
  rewire.set_epoch(moved.epoch);
  for (const auto& [worker, member] : members_) {
    const RunMember* const known = course_.members().Find(worker);
    if (known == nullptr || known->state != RunMember::State::kWorking) {
      continue;
    }
    rewire.set_connections(servers_.ConnectionsTo(
        moved.server, member.connections, members_.size()));
    SendToWorker(worker, command);
  }
}

template <>
void JobRun::On(const AdmitParameters& admit) {
  Tell([this, bytes = admit.bytes] {
    Take(ToEvent(ParametersAdmitted{setup_.admit_parameters(bytes)}))
        .IgnoreError();
  });
}

template <>
void JobRun::On(const AskForEvaluator&) {
  if (backlogged()) return;  // It is asked again soon.
  Tell([this] { Take(ToEvent(setup_.find_evaluator())).IgnoreError(); });
}

template <>
void JobRun::On(const CompleteCheckpoint& write) {
  Tell([this, order = write.order, spec = PresentSpec(),
        tensors = course_.model().tensors, blocks = course_.blocks(),
        newest = record_.newest_evaluation()] {
    disk_.Ask(order.directory,
              [=, job = setup_.job_name](const absl::Status& refused) {
                return ManifestWritten{
                    order.id, refused.ok() ? WriteCheckpointManifest(
                                                 order, job, spec, tensors,
                                                 blocks, newest)
                                           : refused};
              });
  });
}

template <>
void JobRun::On(const RemoveCheckpointFiles& remove) {
  // What some of the servers have written, and the coordinator, whose manifest
  // is on the same lane. There may be nothing.
  Tell([this, directory = remove.directory] {
    disk_.Ask(directory, [directory](const absl::Status& refused) {
      const absl::Status removed =
          refused.ok() ? RemoveCheckpoint(directory) : refused;
      if (!removed.ok() && !absl::IsNotFound(removed)) {
        LogWarning(removed.message());
      }
      return FilesRemoved{directory};
    });
  });
}

template <>
void JobRun::On(const TrainingStarted& started) {
  record_.Begin(now_, absl::Seconds(course_.SecondsAt(now_)),
                started.parameters, started.train_samples);
  metrics_->training_start_timestamp_seconds->Set(UnixSeconds());
  metrics_->workers_joined->Increment(static_cast<double>(started.workers));
  Tell([this, started] {
    observer_->Started(started.parameters, started.train_samples);
  });
}

template <>
void JobRun::On(const WorkerJoined&) {
  metrics_->workers_joined->Increment();
}

template <>
void JobRun::On(const ProgressDue&) {
  if (backlogged()) return;  // The next one says more, the end everything.
  Tell([this, progress = ProgressAt(now_), view = ViewOf(course_.core()),
        members = members_, every = course_.settings().checkpoint_interval] {
    metrics_->checkpoint_interval_seconds->Set(
        setup_.checkpoint_root.empty() ? 0 : absl::ToDoubleSeconds(every));
    ExportProgress(progress, view, members, *metrics_);
    observer_->Progressed(progress);
  });
}

template <>
void JobRun::On(const SnapshotEvaluated& evaluated) {
  record_.Evaluated(evaluated.point);
  Tell(
      [this, point = ToWire(evaluated.point)] { observer_->Evaluated(point); });
}

template <>
void JobRun::On(const CheckpointChanged& changed) {
  if (changed.state == CheckpointChanged::State::kWriting) {
    metrics_->checkpoints->Increment();
  }
  Tell([this, changed] { TellCheckpoint(changed); });
}

template <>
void JobRun::On(const Warning& warning) {
  Tell([this, text = warning.text] {
    if (!text.empty()) LogWarning(text, {{"job", setup_.job_name}});
    observer_->Warned(text);
  });
}

template <>
void JobRun::On(const SavingDelayed& delayed) {
  Tell([this, delayed] { observer_->SavingWasDelayed(delayed); });
}

template <>
void JobRun::On(const SavingSucceeded&) {
  Tell([this] { observer_->SavingHasSucceeded(); });
}

template <>
void JobRun::On(const TrainingEnded&) {
  metrics_->training_start_timestamp_seconds->Set(0);
  On(ProgressDue{});
}

template <>
void JobRun::On(const TrainingResumed&) {
  record_.Begin(now_, absl::Seconds(course_.SecondsAt(now_)),
                course_.model().Parameters(), course_.model().train_samples);
  metrics_->training_start_timestamp_seconds->Set(UnixSeconds());
  On(ProgressDue{});
}

template <>
void JobRun::On(const RunEnded& ended) {
  end_ = ended.outcome;
  v1::WorkerCommand stop;
  stop.mutable_stop()->set_reason(StopReason(ended.outcome));
  // Nobody has done anything wrong where it was cancelled, or only not saved.
  const absl::Status& status = ended.outcome.status;
  if (!absl::IsCancelled(status) && !ended.outcome.left_unsaved) {
    stop.mutable_stop()->set_code(static_cast<int>(status.code()));
  }
  for (const auto& [worker, member] : members_) {
    SendToWorker(worker, stop);
  }
  v1::ServerCommand unhost;
  unhost.mutable_unhost()->set_reason(stop.stop().reason());
  unhost.mutable_unhost()->set_all_shards(true);
  for (int server = 0; server < servers_.size(); ++server) {
    if (course_.shards().Hosts(server)) SendToServer(server, 0, unhost);
  }
  // The last evaluation's accuracy is what stays to be seen. Who hears of the
  // end may take the members for others: they know of it by then.
  TellOnceSent([this, outcome = ended.outcome, progress = ProgressAt(now_),
                view = ViewOf(course_.core())]() mutable {
    ExportProgress(progress, view, {}, *metrics_);
    TellEnd(std::move(outcome));
  });
}

template <class Value>
void JobRun::On(const Value& command) {
  SendToWorker(command.worker, ToWire(command));
}

void JobRun::Perform(absl::Time now, absl::Span<const RunOutput> outputs) {
  now_ = now;
  for (const RunOutput& output : outputs) {
    std::visit([&](const auto& what)
                   ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { On(what); },
               output);
  }
  // At the end nobody is released.
  if (course_.core() != nullptr && !course_.core()->finished()) {
    for (const WorkerId worker : HeldAfter(outputs)) {
      // The last push of somebody who is lost holds nobody.
      const RunMember* const member = course_.members().Find(worker);
      if (member != nullptr) record_.Held(member->name);
    }
  }
  shard_series_.Count(now_, course_.shards(), *metrics_);
}

void JobRun::TellCheckpoint(const CheckpointChanged& changed) {
  if (changed.state == CheckpointChanged::State::kWriting) {
    return observer_->CheckpointChanged(
        ToCheckpoint(changed.order, v1::Checkpoint::WRITING, absl::OkStatus()),
        changed.again);
  }
  if (changed.failure.ok()) {
    metrics_->last_checkpoint_timestamp_seconds->Set(UnixSeconds());
  } else {
    metrics_->checkpoints_failed->Increment();
  }
  if (!changed.failure.ok() && !changed.again) {
    LogWarning("the checkpoint could not be written",
               {{"job", setup_.job_name},
                {"checkpoint", changed.order.id},
                {"reason", std::string(changed.failure.message())}});
  }
  v1::Checkpoint checkpoint = ToCheckpoint(
      changed.order,
      changed.failure.ok() ? v1::Checkpoint::READY : v1::Checkpoint::FAILED,
      changed.failure);
  const double took = absl::ToDoubleSeconds(changed.took);
  checkpoint.set_write_seconds(took);
  metrics_->checkpoint_seconds->Observe(took);
  observer_->CheckpointChanged(checkpoint, changed.again);
}

void JobRun::TellEnd(RunOutcome outcome) {
  // Before the result is told: a recording that was asked for is part of it.
  if (trace_ != nullptr) {
    outcome.status.Update(trace_->Close());
    if (!outcome.status.ok()) outcome.paused = false;
  }
  if (lost_end_) {
    outcome = {.status = absl::DataLossError(kLostEnd),
               .left_unsaved = true,
               .lost_end = true};
  }
  metrics_->workers->Set(0);
  metrics_->KeepWorkers({});
  metrics_->training_start_timestamp_seconds->Set(0);
  {
    absl::MutexLock lock(&mu_);
    outcome_ = std::move(outcome);
  }
  setup_.over();
}

}  // namespace paceline
