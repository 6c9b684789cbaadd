#include "services/parameter_server/command_runner.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/checkpoint/checkpoint_folder.h"
#include "common/checkpoint/manifest.h"
#include "common/clock.h"
#include "common/log/log.h"
#include "common/safetensors/durable_file.h"
#include "common/status.h"
#include "common/trace_context.h"
#include "services/parameter_server/from_wire.h"
#include "services/parameter_server/job_checkpoint.h"

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

v1::CheckpointWritten ToWire(const v1::WriteCheckpoint& write,
                             const absl::StatusOr<WrittenFile>& outcome) {
  v1::CheckpointWritten written;
  written.set_snapshot(write.snapshot());
  written.set_file(write.file());
  written.set_code(static_cast<int>(outcome.status().code()));
  written.set_message(std::string(outcome.status().message()));
  if (outcome.ok()) {
    written.set_bytes(outcome->bytes);
    written.set_sha256(outcome->sha256);
  }
  return written;
}

// Each job has a folder in it, and in that each checkpoint.
std::string RootOf(const std::string& checkpoint) {
  return FolderOf(FolderOf(checkpoint));
}

absl::StatusOr<WrittenFile> WriteFile(const std::vector<std::string>& roots,
                                      const JobShard& job,
                                      const PulledBlocks& blocks,
                                      const v1::WriteCheckpoint& write,
                                      const DiskWorker::Cancelled& cancelled) {
  PACELINE_ASSIGN_OR_RETURN(const std::string folder,
                            ResolveWithinAny(roots, write.directory()));
  PACELINE_RETURN_IF_ERROR(MakeFolders(folder));
  return WriteSnapshot(job.config(), blocks,
                       absl::StrCat(folder, "/", write.file()), cancelled);
}

// What becomes of a job's blocks as the checkpoint in a folder says:
// RestoreJob() or SetInitialWeights().
using ReadBlocks = absl::Status (*)(JobShard& job, const std::string& folder,
                                    const std::function<bool()>& cancelled);

absl::Status Restore(const std::vector<std::string>& roots, JobShard& job,
                     const std::string& folder, ReadBlocks read,
                     const DiskWorker::Cancelled& cancelled) {
  PACELINE_ASSIGN_OR_RETURN(const std::string path,
                            ResolveWithinAny(roots, folder));
  return read(job, path, cancelled);
}

void Count(const absl::StatusOr<WrittenFile>& outcome, absl::Duration took,
           ServerMetrics& metrics) {
  metrics.checkpoints.Increment();
  if (!outcome.ok()) {
    metrics.checkpoint_failures.Increment();
    return;
  }
  metrics.checkpoint_seconds.Observe(absl::ToDoubleSeconds(took));
  metrics.checkpoint_bytes.Increment(static_cast<double>(outcome->bytes));
  metrics.checkpoint_last_success.Set(
      absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
}

}  // namespace

CommandRunner::CommandRunner(Shard* shard, ServerMetrics* metrics,
                             std::vector<std::string> checkpoint_roots)
    : shard_(shard),
      metrics_(metrics),
      checkpoint_roots_(std::move(checkpoint_roots)),
      folders_(checkpoint_roots_, &Clock::Real()),
      disk_(kMaxDiskTasks) {}

void CommandRunner::Begin(Send send) {
  folders_.Forget();
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

void CommandRunner::TakeTurn(absl::Time now) {
  ShardCounters sum;
  const auto jobs = shard_->Jobs();
  for (const auto& job : jobs) {
    job->ExpirePulls(now);
    const ShardCounters counters = job->Counters();
    sum.parked_pulls += counters.parked_pulls;
    sum.open_rounds += counters.open_rounds;
    sum.snapshots += counters.snapshots;
  }
  metrics_->parked_pulls.Set(static_cast<double>(sum.parked_pulls));
  metrics_->open_rounds.Set(static_cast<double>(sum.open_rounds));
  metrics_->snapshots.Set(static_cast<double>(sum.snapshots));
  metrics_->jobs.Set(static_cast<double>(jobs.size()));
  metrics_->parameter_bytes.Set(static_cast<double>(shard_->state_bytes()));
  const std::optional<v1::FoldersSeen> seen = folders_.Take();
  if (!seen.has_value()) return;
  v1::ServerMessage message;
  *message.mutable_folders_seen() = *seen;
  absl::MutexLock lock(&mu_);
  Answer(0, std::move(message));
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
  if (command.has_folders()) return folders_.Watch(command.folders());
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
  Hosting& hosting = runs_.at(run);
  if (command.sequence() != hosting.last_sequence + 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("command ", command.sequence(), " came after command ",
                     hosting.last_sequence, "; send those between first"));
  }
  hosting.last_sequence = command.sequence();
  if (!hosting.restoring) return Execute(run, command);
  if (hosting.waiting.size() >= kMaxWaiting) {
    return absl::ResourceExhaustedError(
        "too many commands came while the checkpoint was read");
  }
  hosting.waiting.push_back(command);
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
  Hosting& hosting = runs_[run];
  hosting.id = next_hosting_++;
  LogInfo("hosts a run",
          {{"run", run}, {"trace_id", TraceIdOf(host.traceparent())}});
  if (!host.restore_from().empty()) {
    return BeginRestore(
        run, hosting, host.restore_from(),
        host.weights_only() ? Saved::kWeights : Saved::kEverything);
  }
  Done(run, kHostSequence);
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
  v1::CommandDone done;
  if (command.has_close()) {
    PACELINE_RETURN_IF_ERROR(Close(*job, command.close()));
  } else if (command.has_fence()) {
    PACELINE_ASSIGN_OR_RETURN(const FencedPush fenced,
                              job->Fence(command.fence().incarnation()));
    *done.mutable_fence() = ToWire(fenced);
  } else if (command.has_snapshot()) {
    // One that is refused for its size is missed by its evaluation alone; the
    // training goes on.
    const absl::Status kept =
        job->Snapshot(static_cast<uint64_t>(command.snapshot().snapshot()));
    if (!absl::IsResourceExhausted(kept)) PACELINE_RETURN_IF_ERROR(kept);
    if (!kept.ok()) LogWarning(kept.message(), {{"run", run}});
    done.set_code(static_cast<int>(kept.code()));
    done.set_message(std::string(kept.message()));
  } else if (command.has_release_snapshot()) {
    job->ReleaseSnapshot(
        static_cast<uint64_t>(command.release_snapshot().snapshot()));
  } else if (command.has_write_checkpoint()) {
    return Write(run, job, command);
  } else {
    return absl::InvalidArgumentError("that is no command");
  }
  Done(run, command.sequence(), std::move(done));
  return absl::OkStatus();
}

absl::Status CommandRunner::Close(JobShard& job, const v1::CloseRound& close) {
  const std::vector<uint64_t> rounds(close.rounds().begin(),
                                     close.rounds().end());
  const Clock& clock = Clock::Real();
  const absl::Time began = clock.Now();
  PACELINE_RETURN_IF_ERROR(job.Close(close.closing(), rounds, close.rate()));
  metrics_->closings.Increment();
  metrics_->closing_seconds.Observe(absl::ToDoubleSeconds(clock.Now() - began));
  return absl::OkStatus();
}

void CommandRunner::Done(uint64_t run, uint64_t sequence,
                         v1::CommandDone done) {
  v1::ServerMessage message;
  done.set_sequence(sequence);
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

absl::Status CommandRunner::BeginRestore(uint64_t run, Hosting& hosting,
                                         const std::string& folder,
                                         Saved saved) {
  PACELINE_ASSIGN_OR_RETURN(const std::shared_ptr<JobShard> job,
                            shard_->Job(run));
  const ReadBlocks read =
      saved == Saved::kEverything ? &RestoreJob : &SetInitialWeights;
  PACELINE_RETURN_IF_ERROR(disk_.Put(
      RootOf(folder), run,
      [this, run, id = hosting.id, job, folder,
       read](const DiskWorker::Cancelled& cancelled) {
        Restored(
            run, id,
            Annotate(Restore(checkpoint_roots_, *job, folder, read, cancelled),
                     absl::StrCat("restore from ", folder)));
      }));
  hosting.restoring = true;
  return absl::OkStatus();
}

void CommandRunner::Restored(uint64_t run, uint64_t hosting,
                             const absl::Status& outcome) {
  absl::MutexLock lock(&mu_);
  Hosting* const found = Find(run, hosting);
  if (found == nullptr) return;  // Unhosted meanwhile.
  found->restoring = false;
  if (!outcome.ok()) {
    found->waiting.clear();
    Fail(run, outcome);
    return;
  }
  LogInfo("restored a run", {{"run", run}});
  Done(run, kHostSequence);
  std::deque<v1::ServerCommand> waiting;
  waiting.swap(found->waiting);
  for (const v1::ServerCommand& command : waiting) {
    const absl::Status obeyed = Execute(run, command);
    if (obeyed.ok()) continue;
    Fail(run, obeyed);
    return;
  }
}

absl::Status CommandRunner::Write(uint64_t run,
                                  const std::shared_ptr<JobShard>& job,
                                  const v1::ServerCommand& command) {
  const v1::WriteCheckpoint& write = command.write_checkpoint();
  // A checkpoint that cannot be written is told of, and the training goes on.
  PACELINE_ASSIGN_OR_RETURN(PulledBlocks blocks, job->TakeBlocks());
  Done(run, command.sequence());
  const absl::Status begun = BeginWrite(run, job, std::move(blocks), write);
  if (begun.ok()) return begun;
  TellFailure(run, begun.message());
  Count(begun, absl::ZeroDuration(), *metrics_);
  v1::ServerMessage message;
  *message.mutable_checkpoint_written() = ToWire(write, begun);
  Answer(run, std::move(message));
  return absl::OkStatus();
}

absl::Status CommandRunner::BeginWrite(uint64_t run,
                                       const std::shared_ptr<JobShard>& job,
                                       PulledBlocks blocks,
                                       const v1::WriteCheckpoint& write) {
  PACELINE_RETURN_IF_ERROR(CheckFileName(write.file()));
  const uint64_t hosting = runs_[run].id;
  return disk_.Put(
      RootOf(write.directory()), run,
      [this, run, hosting, job, write, blocks = std::move(blocks)](
          const DiskWorker::Cancelled& cancelled) mutable {
        const Clock& clock = Clock::Real();
        const absl::Time began = clock.Now();
        // The disk is not touched on any other thread, for it may hang.
        const auto outcome =
            WriteFile(checkpoint_roots_, *job, blocks, write, cancelled);
        blocks = {};  // Holds the states back from being updated in place.
        Count(outcome, clock.Now() - began, *metrics_);
        Written(run, hosting, ToWire(write, outcome));
      });
}

void CommandRunner::TellFailure(uint64_t run, absl::string_view why) {
  const auto found = runs_.find(run);
  // Once: the coordinator tries again as often as it takes.
  if (found != runs_.end() && std::exchange(found->second.write_failed, true)) {
    return;
  }
  LogWarning("a checkpoint failed",
             {{"run", run}, {"error", std::string(why)}});
}

void CommandRunner::Written(uint64_t run, uint64_t hosting,
                            v1::CheckpointWritten written) {
  absl::MutexLock lock(&mu_);
  if (written.code() != 0) TellFailure(run, written.message());
  Hosting* const found = Find(run, hosting);
  if (found == nullptr) return;  // Nobody waits for it any more.
  if (written.code() == 0) found->write_failed = false;
  v1::ServerMessage message;
  *message.mutable_checkpoint_written() = std::move(written);
  Answer(run, std::move(message));
}

}  // namespace paceline
