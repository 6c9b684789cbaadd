#include "services/parameter_server/command_runner.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/log/log.h"
#include "common/status.h"
#include "common/trace_context.h"
#include "services/parameter_server/host_job.h"

namespace paceline {
namespace {

// One reading or writing of each run, if there are that many.
constexpr size_t kMaxDiskTasks = 256;

// Commands of one run that may wait until it is restored.
constexpr size_t kMaxWaiting = 10'000;

v1::FenceAnswer ToWire(const FencedPush& fenced) {
  v1::FenceAnswer answer;
  answer.set_iteration(fenced.iteration);
  answer.set_blocks_taken(fenced.blocks_taken);
  answer.set_blocks(fenced.blocks);
  answer.set_samples(fenced.samples);
  return answer;
}

}  // namespace

CommandRunner::CommandRunner(Shard* shard, ServerMetrics* metrics,
                             std::string checkpoint_root)
    : shard_(shard),
      metrics_(metrics),
      checkpoint_root_(std::move(checkpoint_root)),
      disk_(kMaxDiskTasks) {}

void CommandRunner::Begin(Send send) {
  absl::MutexLock lock(&mu_);
  send_ = std::move(send);
}

void CommandRunner::End(absl::string_view reason) {
  absl::MutexLock lock(&mu_);
  send_ = nullptr;
  runs_.clear();
  disk_.CancelAll();
  shard_->RemoveAll(reason);
}

void CommandRunner::Refuse() {
  absl::MutexLock lock(&mu_);
  refusing_ = true;
}

bool CommandRunner::idle() const {
  absl::MutexLock lock(&mu_);
  return runs_.empty() && disk_.idle();
}

void CommandRunner::Run(const v1::ServerCommand& command) {
  const uint64_t run = command.run();
  absl::MutexLock lock(&mu_);
  if (command.has_unhost()) {
    Unhost(run, command.unhost().reason());
    return;
  }
  const auto found = runs_.find(run);
  // The coordinator's threads do not wait for each other at the end of a run:
  // the release of its last snapshot may come after `unhost`.
  if (found == runs_.end() && !command.has_host()) return;
  if (found != runs_.end() && found->second.failed) return;
  const absl::Status obeyed = Obey(run, command);
  if (!obeyed.ok()) Fail(run, obeyed);
}

absl::Status CommandRunner::Obey(uint64_t run,
                                 const v1::ServerCommand& command) {
  if (command.has_host()) return Host(run, command);
  const auto found = runs_.find(run);
  if (found == runs_.end() || !found->second.restoring) {
    return Execute(run, command);
  }
  if (found->second.waiting.size() >= kMaxWaiting) {
    return absl::ResourceExhaustedError(
        "too many commands came while the checkpoint was read");
  }
  found->second.waiting.push_back(command);
  return absl::OkStatus();
}

absl::Status CommandRunner::Host(uint64_t run,
                                 const v1::ServerCommand& command) {
  const v1::HostJob& host = command.host();
  if (command.sequence() != kHostSequence) {
    return absl::InvalidArgumentError(
        absl::StrCat("host is command ", kHostSequence, " of a run, not ",
                     command.sequence()));
  }
  if (refusing_) return absl::UnavailableError("the server is stopping");
  PACELINE_ASSIGN_OR_RETURN(ShardConfig config, ToShardConfig(host));
  PACELINE_RETURN_IF_ERROR(shard_->Configure(run, std::move(config)));
  const auto [entry, is_new] = runs_.try_emplace(run);
  Hosting& hosting = entry->second;
  if (is_new) {
    hosting.id = next_hosting_++;
    LogInfo("hosts a run",
            {{"run", run}, {"trace_id", TraceIdOf(host.traceparent())}});
  }
  if (is_new && !host.restore_from().empty()) {
    return BeginRestore(run, hosting, host.restore_from());
  }
  if (hosting.restoring) return absl::OkStatus();  // Its answer will come.
  v1::CommandDone done;
  done.set_sequence(kHostSequence);
  Done(run, std::move(done));
  return absl::OkStatus();
}

void CommandRunner::Unhost(uint64_t run, const std::string& reason) {
  disk_.Cancel(run);
  runs_.erase(run);
  shard_->Remove(run, reason.empty() ? "the run is over" : reason);
  LogInfo("dropped a run", {{"run", run}, {"reason", reason}});
}

absl::Status CommandRunner::Execute(uint64_t run,
                                    const v1::ServerCommand& command) {
  PACELINE_ASSIGN_OR_RETURN(const std::shared_ptr<JobShard> job,
                            shard_->Job(run));
  const uint64_t sequence = command.sequence() - kHostSequence;
  v1::CommandDone done;
  done.set_sequence(command.sequence());
  if (command.has_close()) {
    PACELINE_RETURN_IF_ERROR(Close(*job, sequence, command.close()));
  } else if (command.has_fence()) {
    PACELINE_ASSIGN_OR_RETURN(
        const FencedPush fenced,
        job->Fence(sequence, command.fence().incarnation()));
    *done.mutable_fence() = ToWire(fenced);
  } else if (command.has_snapshot()) {
    // One that is refused for its size is missed by its evaluation alone; the
    // training goes on.
    const absl::Status kept = job->Snapshot(
        sequence, static_cast<uint64_t>(command.snapshot().snapshot()));
    if (!absl::IsResourceExhausted(kept)) PACELINE_RETURN_IF_ERROR(kept);
    if (!kept.ok()) LogWarning(kept.message(), {{"run", run}});
    done.set_code(static_cast<int>(kept.code()));
    done.set_message(std::string(kept.message()));
  } else if (command.has_release_snapshot()) {
    PACELINE_RETURN_IF_ERROR(job->ReleaseSnapshot(
        sequence,
        static_cast<uint64_t>(command.release_snapshot().snapshot())));
  } else if (command.has_write_checkpoint()) {
    return Write(run, job, command);
  } else {
    return absl::InvalidArgumentError("that is no command");
  }
  Done(run, std::move(done));
  return absl::OkStatus();
}

absl::Status CommandRunner::Close(JobShard& job, uint64_t sequence,
                                  const v1::CloseRound& close) {
  const std::vector<uint64_t> rounds(close.rounds().begin(),
                                     close.rounds().end());
  const Clock& clock = Clock::Real();
  const absl::Time began = clock.Now();
  PACELINE_RETURN_IF_ERROR(
      job.Close(sequence, close.closing(), rounds, close.rate()));
  metrics_->closings.Increment();
  metrics_->closing_seconds.Observe(absl::ToDoubleSeconds(clock.Now() - began));
  return absl::OkStatus();
}

void CommandRunner::Done(uint64_t run, v1::CommandDone done) {
  v1::ServerMessage message;
  *message.mutable_done() = std::move(done);
  Answer(run, std::move(message));
}

void CommandRunner::Fail(uint64_t run, const absl::Status& why) {
  LogWarning("a command failed",
             {{"run", run}, {"error", std::string(why.message())}});
  // Also for a run that could not be hosted: its later commands would fail
  // likewise. `unhost` forgets it.
  runs_[run].failed = true;
  v1::ServerMessage message;
  message.mutable_failed()->set_code(static_cast<int>(why.code()));
  message.mutable_failed()->set_message(std::string(why.message()));
  Answer(run, std::move(message));
}

void CommandRunner::Answer(uint64_t run, v1::ServerMessage message) {
  if (send_ == nullptr) return;
  message.set_run(run);
  send_(std::move(message));
}

CommandRunner::Hosting* CommandRunner::Find(uint64_t run, uint64_t hosting) {
  const auto found = runs_.find(run);
  if (found == runs_.end() || found->second.id != hosting) return nullptr;
  return &found->second;
}

}  // namespace paceline
