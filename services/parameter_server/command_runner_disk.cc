// What commands have the disk worker do: restore a run, write a checkpoint.

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/checkpoint/checkpoint_folder.h"
#include "common/checkpoint/manifest.h"
#include "common/clock.h"
#include "common/log/log.h"
#include "common/status.h"
#include "services/parameter_server/command_runner.h"
#include "services/parameter_server/job_checkpoint.h"

namespace paceline {
namespace {

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

absl::StatusOr<WrittenFile> WriteFile(const JobShard& job,
                                      const PulledBlocks& blocks,
                                      const std::string& folder,
                                      const std::string& file,
                                      const DiskWorker::Cancelled& cancelled) {
  PACELINE_RETURN_IF_ERROR(MakeFolders(folder));
  return WriteSnapshot(job.config(), blocks, absl::StrCat(folder, "/", file),
                       cancelled);
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

absl::StatusOr<std::string> CommandRunner::FolderFor(
    const std::string& folder) const {
  if (!checkpoint_root_.empty()) {
    return ResolveWithin(checkpoint_root_, folder);
  }
  if (!folder.empty() && folder.front() == '/') return folder;
  return absl::InvalidArgumentError(absl::StrCat(
      "a checkpoint's folder needs an absolute path, not \"", folder, "\""));
}

absl::Status CommandRunner::BeginRestore(uint64_t run, Hosting& hosting,
                                         const std::string& folder) {
  PACELINE_ASSIGN_OR_RETURN(const std::string path, FolderFor(folder));
  PACELINE_ASSIGN_OR_RETURN(const std::shared_ptr<JobShard> job,
                            shard_->Job(run));
  PACELINE_RETURN_IF_ERROR(
      disk_.Put(run, [this, run, id = hosting.id, job,
                      path](const DiskWorker::Cancelled& cancelled) {
        Restored(run, id,
                 Annotate(RestoreJob(*job, path, cancelled),
                          absl::StrCat("restore from ", path)));
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
  v1::CommandDone done;
  done.set_sequence(kHostSequence);
  Done(run, std::move(done));
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
  // Only a command out of order fails the run. A checkpoint that cannot be
  // written is told of, and the training goes on.
  PACELINE_ASSIGN_OR_RETURN(
      std::optional<PulledBlocks> blocks,
      job->TakeBlocks(command.sequence() - kHostSequence));
  v1::CommandDone done;
  done.set_sequence(command.sequence());
  Done(run, std::move(done));
  if (!blocks.has_value()) return absl::OkStatus();
  const absl::Status begun = BeginWrite(run, job, *std::move(blocks), write);
  if (begun.ok()) return begun;
  LogWarning("no checkpoint is written",
             {{"run", run}, {"error", std::string(begun.message())}});
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
  PACELINE_ASSIGN_OR_RETURN(const std::string folder,
                            FolderFor(write.directory()));
  const uint64_t hosting = runs_[run].id;
  return disk_.Put(
      run, [this, run, hosting, job, folder, write, blocks = std::move(blocks)](
               const DiskWorker::Cancelled& cancelled) mutable {
        const Clock& clock = Clock::Real();
        const absl::Time began = clock.Now();
        const auto outcome =
            WriteFile(*job, blocks, folder, write.file(), cancelled);
        blocks = {};  // Holds the states back from being updated in place.
        Count(outcome, clock.Now() - began, *metrics_);
        Written(run, hosting, ToWire(write, outcome));
      });
}

void CommandRunner::Written(uint64_t run, uint64_t hosting,
                            v1::CheckpointWritten written) {
  absl::MutexLock lock(&mu_);
  if (written.code() != 0) {
    LogWarning("a checkpoint failed",
               {{"run", run}, {"error", written.message()}});
  }
  if (Find(run, hosting) == nullptr) return;  // Nobody waits for it any more.
  v1::ServerMessage message;
  *message.mutable_checkpoint_written() = std::move(written);
  Answer(run, std::move(message));
}

}  // namespace paceline
