#include "services/parameter_server/command_runner.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/check.h"
#include "common/checkpoint/checkpoint_folder.h"
#include "common/checkpoint/file_store.h"
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

// Commands of one shard that may wait while it is busy.
constexpr size_t kMaxWaiting = 10'000;

// Parameters that a brief closing updates, and sends to those who wait for
// them, in some 0.3 ms.
constexpr uint64_t kBriefClosing = uint64_t{1} << 20;

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
  PACELINE_ASSIGN_OR_RETURN(const FileStore* files, FilesAt(folder));
  PACELINE_RETURN_IF_ERROR(files->MakeFolder(folder));
  return WriteSnapshot(job.config(), blocks, PathIn(folder, write.file()),
                       cancelled);
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

absl::StatusOr<v1::CommandDone> Close(JobShard& job,
                                      const v1::CloseRound& close,
                                      ServerMetrics& metrics) {
  const std::vector<uint64_t> rounds(close.rounds().begin(),
                                     close.rounds().end());
  const Clock& clock = Clock::Real();
  const absl::Time began = clock.Now();
  std::optional<double> momentum;
  if (close.has_momentum()) momentum = close.momentum();
  PACELINE_ASSIGN_OR_RETURN(
      const std::optional<MeanGradient> mean,
      job.Close(close.closing(), rounds, close.rate(), momentum));
  v1::CommandDone done;
  if (mean.has_value()) {
    done.mutable_mean_gradient()->set_samples(mean->samples);
    done.mutable_mean_gradient()->set_square(mean->square);
  }
  metrics.closings.Increment();
  metrics.closing_seconds.Observe(absl::ToDoubleSeconds(clock.Now() - began));
  return done;
}

absl::Status Announce(Shard& shard, const ShardId& id,
                      const v1::AnnounceClosing& announce) {
  PACELINE_ASSIGN_OR_RETURN(const std::shared_ptr<JobShard> job, shard.Job(id));
  // What a backup is told is not for the primary that it becomes.
  if (!job->serving()) return absl::OkStatus();
  return job->Announce(ClosingFromWire(announce));
}

// Whether a run is hosted that is not this one. REQUIRES: one is.
bool AnotherThan(uint64_t run, const std::map<ShardId, Hosting>& shards) {
  // They are in the order of their runs.
  return shards.begin()->first.run != run || shards.rbegin()->first.run != run;
}

// Null: the shard is not hosted any more.
void LogFailure(const ShardId& id, Hosting* hosting, absl::string_view why) {
  // Once: the coordinator tries again as often as it takes.
  if (hosting != nullptr && std::exchange(hosting->write_failed, true)) return;
  LogWarning("a checkpoint failed",
             {{"run", id.run}, {"error", std::string(why)}});
}

// Its stream and its lane are waited for later.
void Retire(Hosting& hosting, std::vector<std::shared_ptr<void>>& retired) {
  retired.push_back(std::exchange(hosting.replica, nullptr));
  retired.push_back(std::exchange(hosting.lane, nullptr));
}

}  // namespace

CommandRunner::CommandRunner(Shard* shard, ServerMetrics* metrics,
                             std::vector<std::string> checkpoint_roots,
                             ReplicaStream::Dial dial)
    : shard_(shard),
      metrics_(metrics),
      checkpoint_roots_(std::move(checkpoint_roots)),
      folders_(checkpoint_roots_, &Clock::Real()),
      dial_(std::move(dial)),
      disk_(kMaxDiskTasks) {}

CommandRunner::~CommandRunner() {
  Begin(nullptr);
  DropAll("the server ends");
}

void CommandRunner::Begin(Send send) {
  folders_.Forget();
  answers_.GoTo(std::move(send));
}

std::vector<v1::HeldShard> CommandRunner::Held() {
  Retired retired;  // Waited for after the lock.
  std::vector<v1::HeldShard> held;
  std::vector<ShardId> failed;
  absl::MutexLock lock(&mu_);
  for (const auto& [id, hosting] : shards_) {
    const auto job = shard_->Job(id);
    if (hosting.failed || !job.ok()) {
      failed.push_back(id);
      continue;
    }
    v1::HeldShard& shard = held.emplace_back();
    shard.set_run(id.run);
    shard.set_shard(id.shard);
    shard.set_epoch((*job)->epoch());
    shard.set_backup(!(*job)->serving());
  }
  for (const ShardId& id : failed) Unhost(id, "it has failed");
  retired.swap(retired_);
  return held;
}

void CommandRunner::DropAll(absl::string_view reason) {
  Retired ended;  // Waited for after the lock.
  absl::MutexLock lock(&mu_);
  for (auto& [id, hosting] : shards_) {
    Retire(hosting, retired_);
    answers_.Forget(id);
  }
  ended.swap(retired_);
  shards_.clear();
  disk_.CancelAll();
  shard_->RemoveAll(reason);
}

void CommandRunner::SetLease(absl::Duration lease) {
  lease_ms_ = absl::ToInt64Milliseconds(lease);
}

void CommandRunner::TakeTurn(absl::Time now) {
  ShardCounters sum;
  uint64_t lag = 0;
  const auto jobs = shard_->Jobs();
  for (const auto& job : jobs) {
    job->ExpirePulls(now);
    const ShardCounters counters = job->Counters();
    sum.parked_pulls += counters.parked_pulls;
    sum.open_rounds += counters.open_rounds;
    sum.snapshots += counters.snapshots;
    lag += job->log().lag();
  }
  replica_lag_ = lag;
  metrics_->replica_lag.Set(static_cast<double>(lag));
  metrics_->parked_pulls.Set(static_cast<double>(sum.parked_pulls));
  metrics_->open_rounds.Set(static_cast<double>(sum.open_rounds));
  metrics_->snapshots.Set(static_cast<double>(sum.snapshots));
  metrics_->jobs.Set(static_cast<double>(jobs.size()));
  metrics_->parameter_bytes.Set(static_cast<double>(shard_->state_bytes()));
  const std::optional<v1::FoldersSeen> seen = folders_.Take();
  if (!seen.has_value()) return;
  v1::ServerMessage message;
  *message.mutable_folders_seen() = *seen;
  answers_.Tell(0, std::move(message));
}

void CommandRunner::Refuse() {
  absl::MutexLock lock(&mu_);
  refusing_ = true;
}

bool CommandRunner::idle() const {
  absl::MutexLock lock(&mu_);
  return shards_.empty() && disk_.idle();
}

void CommandRunner::Run(const v1::ServerCommand& command) {
  if (command.has_folders()) return folders_.Watch(command.folders());
  const ShardId id(command.run(), command.shard());
  if (command.has_rule_bytes()) {
    return shard_->SetRuleBytes(id, command.rule_bytes());
  }
  Retired retired;  // Waited for after the lock.
  absl::MutexLock lock(&mu_);
  if (command.has_unhost()) {
    UnhostAll(id, command.unhost());
    retired.swap(retired_);
    return;
  }
  const auto found = shards_.find(id);
  // The coordinator's threads do not wait for each other at the end of a run:
  // the release of its last snapshot may come after `unhost`.
  if (found == shards_.end() && !command.has_host()) return;
  if (found != shards_.end() && found->second.failed) return;
  if (found == shards_.end() || !found->second.busy || command.has_host()) {
    Perform(id, command);
  } else if (found->second.waiting.size() < kMaxWaiting) {
    found->second.waiting.push_back(command);
  } else {
    Fail(id, absl::ResourceExhaustedError(
                 "too many commands came while it was busy"));
  }
  retired.swap(retired_);
}

bool CommandRunner::IsBrief(const v1::ServerCommand& command) const {
  if (!command.has_close()) return false;
  const auto job = shard_->Job(ShardId(command.run(), command.shard()));
  // What several runs do on their lanes may be waited for.
  if (!job.ok() || shard_->Jobs().size() > 1) return false;
  // Each pull that waits for it is answered block by block.
  const uint64_t times = 1 + (*job)->Counters().parked_pulls;
  uint64_t parameters = 0;
  for (const BlockConfig& block : (*job)->config().blocks) {
    parameters += block.size;
    if (times * parameters > kBriefClosing) return false;
  }
  return true;
}

void CommandRunner::Perform(const ShardId& id,
                            const v1::ServerCommand& command) {
  if (command.has_replicate()) {
    Replicate(id, command.replicate());
  } else if (command.has_promote()) {
    Promote(id, command.promote());
  } else {
    const absl::Status obeyed = command.has_announce()
                                    ? Announce(*shard_, id, command.announce())
                                    : Obey(id, command);
    if (!obeyed.ok()) Fail(id, obeyed);
  }
}

void CommandRunner::PerformWaiting(const ShardId& id, Hosting& hosting) {
  while (!hosting.busy && !hosting.failed && !hosting.waiting.empty()) {
    const v1::ServerCommand command = std::move(hosting.waiting.front());
    hosting.waiting.pop_front();
    Perform(id, command);
  }
}

absl::Status CommandRunner::Obey(const ShardId& id,
                                 const v1::ServerCommand& command) {
  if (command.has_host()) return Host(id, command);
  Hosting& hosting = shards_.at(id);
  // The primary before this one has carried it out, and its answer was lost.
  if (command.sequence() <= hosting.last_sequence) return Repeat(id, command);
  if (command.sequence() != hosting.last_sequence + 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("command ", command.sequence(), " came after command ",
                     hosting.last_sequence, "; send those between first"));
  }
  hosting.last_sequence = command.sequence();
  return Execute(id, command);
}

absl::Status CommandRunner::Host(const ShardId& id,
                                 const v1::ServerCommand& command) {
  const v1::HostJob& host = command.host();
  const bool begins = !host.backup() && !host.has_rebuild();
  if (begins && command.sequence() != kHostSequence) {
    return absl::InvalidArgumentError(
        absl::StrCat("host is command ", kHostSequence, " of a run, not ",
                     command.sequence()));
  }
  const absl::Status room = MakeRoom(id, host);
  if (!begins) {
    // One that cannot have it has it not, and that is all.
    if (!room.ok()) Unhost(id, std::string(room.message()));
    if (host.has_rebuild() && room.ok()) return Rebuild(id, command);
    answers_.TellBackup(id, host.epoch(), room);
    return absl::OkStatus();
  }
  PACELINE_RETURN_IF_ERROR(room);
  if (!host.restore_from().empty()) {
    return BeginRestore(
        id, shards_[id], host.restore_from(),
        host.weights_only() ? Saved::kWeights : Saved::kEverything);
  }
  Done(id, kHostSequence);
  return absl::OkStatus();
}

absl::Status CommandRunner::Rebuild(const ShardId& id,
                                    const v1::ServerCommand& command) {
  const v1::HostJob& host = command.host();
  PACELINE_ASSIGN_OR_RETURN(const auto job, shard_->Job(id));
  Hosting& hosting = shards_.at(id);
  hosting.last_sequence = command.sequence();
  hosting.rebuilt = true;
  job->BeginRebuilt(host.rebuild().closing(), host.rebuild().snapshot());
  absl::Status begun;
  if (!host.restore_from().empty()) {
    begun = BeginRestore(id, hosting, host.restore_from(), Saved::kEverything);
    if (begun.ok()) return begun;
    // Another server may have a disk that takes it: the run has not failed.
    Unhost(id, "it could not be rebuilt");
  }
  answers_.TellBackup(id, host.epoch(), begun);
  return absl::OkStatus();
}

absl::Status CommandRunner::MakeRoom(const ShardId& id,
                                     const v1::HostJob& host) {
  if (refusing_) return absl::UnavailableError("the server is stopping");
  PACELINE_ASSIGN_OR_RETURN(ShardConfig config, ToShardConfig(host));
  config.backup = host.backup();
  if (host.has_rebuild()) config.least_epoch = host.epoch();
  PACELINE_RETURN_IF_ERROR(
      shard_->Configure(id, std::move(config), host.rule_bytes()));
  PACELINE_ASSIGN_OR_RETURN(const auto job, shard_->Job(id));
  job->set_epoch(host.epoch());
  const ShardConfig& hosted = job->config();
  if (hosted.shares_weights && !hosted.blocks.empty() &&
      job->shared_weights() == nullptr) {
    LogWarning("workers of this machine cannot read weights where they lie",
               {{"run", id.run}, {"reason", "no descriptor or addresses"}});
  }
  shards_[id].id = next_hosting_++;
  LogInfo("hosts a run", {{"run", id.run},
                          {"shard", id.shard},
                          {"backup", host.backup()},
                          {"trace_id", TraceIdOf(host.traceparent())}});
  return absl::OkStatus();
}

void CommandRunner::Replicate(const ShardId& id, const v1::Replicate& order) {
  Hosting& hosting = shards_.at(id);
  const auto job = shard_->Job(id);
  // A backup has none of its own.
  if (!job.ok() || !(*job)->serving() || order.epoch() <= (*job)->epoch()) {
    return;
  }
  (*job)->set_epoch(order.epoch());
  if (hosting.replica != nullptr) {
    retired_.push_back(std::exchange(hosting.replica, nullptr));
  }
  if (order.address().empty() || dial_ == nullptr) {
    (*job)->log().End(order.hold());
    return;
  }
  ReplicaStream::Options options{
      .address = order.address(),
      .hello = {},
      .lease = absl::Milliseconds(lease_ms_.load()),
      .hold = order.hold(),
      .dial = dial_,
      .report = [this, id, epoch = order.epoch(),
                 job = *job](const absl::Status& status) {
        // It is the primary itself now.
        if (absl::IsAborted(status)) job->Stop(status.message());
        answers_.TellBackup(id, epoch, status);
      }};
  options.hello.set_run(id.run);
  options.hello.set_shard(id.shard);
  options.hello.set_epoch(order.epoch());
  hosting.replica = std::make_shared<ReplicaStream>(
      std::move(options), *job, hosting.last_sequence, metrics_);
}

void CommandRunner::Promote(const ShardId& id, const v1::Promote& order) {
  Hosting& hosting = shards_.at(id);
  const auto job = shard_->Job(id);
  if (!job.ok() || (*job)->serving()) return;
  if (order.hold()) (*job)->log().End(/*hold=*/true);  // Before it serves.
  const absl::StatusOr<uint64_t> last = (*job)->BecomePrimary();
  if (!last.ok()) return Fail(id, last.status());
  (*job)->set_epoch(order.epoch());
  hosting.last_sequence = *last;
  LogInfo("is the primary of a shard now",
          {{"run", id.run}, {"shard", id.shard}, {"epoch", order.epoch()}});
  v1::ServerMessage message;
  message.mutable_promoted()->set_epoch(order.epoch());
  message.mutable_promoted()->set_sequence(*last);
  answers_.Tell(id, std::move(message));
}

void CommandRunner::UnhostAll(const ShardId& id, const v1::Unhost& order) {
  if (!order.all_shards()) return Unhost(id, order.reason());
  std::vector<ShardId> all;
  for (auto it = shards_.lower_bound(ShardId(id.run));
       it != shards_.end() && it->first.run == id.run; ++it) {
    all.push_back(it->first);
  }
  for (const ShardId& each : all) Unhost(each, order.reason());
  answers_.ForgetRun(id.run);  // Of those that could not be rebuilt, too.
}

void CommandRunner::Unhost(const ShardId& id, const std::string& reason) {
  answers_.Forget(id);
  const auto found = shards_.find(id);
  if (found == shards_.end()) return;
  disk_.Cancel(found->second.id);
  Retire(found->second, retired_);
  shards_.erase(found);
  shard_->Remove(id, reason.empty() ? "the run is over" : reason);
  LogInfo("dropped a run",
          {{"run", id.run}, {"shard", id.shard}, {"reason", reason}});
}

absl::Status CommandRunner::Repeat(const ShardId& id,
                                   const v1::ServerCommand& command) {
  PACELINE_ASSIGN_OR_RETURN(const std::shared_ptr<JobShard> job,
                            shard_->Job(id));
  if (command.has_write_checkpoint()) {
    return Write(id, job, command, /*again=*/true);
  }
  v1::CommandDone done;
  if (command.has_fence()) {
    PACELINE_ASSIGN_OR_RETURN(const FencedPush fenced,
                              job->Fence(command.fence().incarnation()));
    *done.mutable_fence() = ToWire(fenced);
  } else if (command.has_snapshot() &&
             static_cast<uint64_t>(command.snapshot().snapshot()) >
                 job->newest_snapshot()) {
    done.set_code(static_cast<int>(absl::StatusCode::kResourceExhausted));
    done.set_message("it was refused before");
  }
  Done(id, command.sequence(), std::move(done));
  return absl::OkStatus();
}

absl::Status CommandRunner::Execute(const ShardId& id,
                                    const v1::ServerCommand& command) {
  PACELINE_ASSIGN_OR_RETURN(const std::shared_ptr<JobShard> job,
                            shard_->Job(id));
  v1::CommandDone done;
  CommandEntry entry{.sequence = command.sequence()};
  if (command.has_close()) {
    if (AnotherThan(id.run, shards_)) return CloseAside(id, job, command);
    PACELINE_ASSIGN_OR_RETURN(done, Close(*job, command.close(), *metrics_));
    entry.what = ClosingDone{command.close().closing()};
  } else if (command.has_fence()) {
    PACELINE_ASSIGN_OR_RETURN(const FencedPush fenced,
                              job->Fence(command.fence().incarnation()));
    *done.mutable_fence() = ToWire(fenced);
    entry.what = FenceDone{command.fence().incarnation(), fenced};
  } else if (command.has_snapshot()) {
    // One that is refused for its size is missed by its evaluation alone; the
    // training goes on.
    const auto snapshot = static_cast<uint64_t>(command.snapshot().snapshot());
    const absl::Status kept = job->Snapshot(snapshot);
    if (kept.ok()) entry.what = SnapshotDone{snapshot};
    if (!absl::IsResourceExhausted(kept)) PACELINE_RETURN_IF_ERROR(kept);
    if (!kept.ok()) LogWarning(kept.message(), {{"run", id.run}});
    done.set_code(static_cast<int>(kept.code()));
    done.set_message(std::string(kept.message()));
  } else if (command.has_release_snapshot()) {
    const auto snapshot =
        static_cast<uint64_t>(command.release_snapshot().snapshot());
    job->ReleaseSnapshot(snapshot);
    entry.what = SnapshotReleased{snapshot};
  } else if (command.has_write_checkpoint()) {
    job->LogCommand(entry);
    return Write(id, job, command);
  } else {
    return absl::InvalidArgumentError("that is no command");
  }
  job->LogCommand(entry);
  Done(id, command.sequence(), std::move(done));
  return absl::OkStatus();
}

absl::Status CommandRunner::CloseAside(const ShardId& id,
                                       std::shared_ptr<JobShard> job,
                                       const v1::ServerCommand& command) {
  Hosting& hosting = shards_.at(id);
  if (hosting.lane == nullptr) hosting.lane = std::make_shared<WorkQueue>(1, 1);
  hosting.busy = true;
  CHECK(hosting.lane->Submit(
      [this, id, number = hosting.id, job = std::move(job), command] {
        Closed(id, number, command, Close(*job, command.close(), *metrics_));
      }));
  return absl::OkStatus();
}

void CommandRunner::Closed(const ShardId& id, uint64_t hosting,
                           const v1::ServerCommand& command,
                           absl::StatusOr<v1::CommandDone> done) {
  absl::MutexLock lock(&mu_);
  Hosting* const found = Find(id, hosting);
  // Unhosted meanwhile, or failed by what came after.
  if (found == nullptr || found->failed) return;
  found->busy = false;
  if (!done.ok()) return Fail(id, done.status());
  const auto job = shard_->Job(id);
  if (!job.ok()) return Fail(id, job.status());
  (*job)->LogCommand({.sequence = command.sequence(),
                      .what = ClosingDone{command.close().closing()}});
  Done(id, command.sequence(), *std::move(done));
  PerformWaiting(id, *found);
}

void CommandRunner::Done(const ShardId& id, uint64_t sequence,
                         v1::CommandDone done) {
  v1::ServerMessage message;
  done.set_sequence(sequence);
  *message.mutable_done() = std::move(done);
  const auto job = shard_->Job(id);
  if (!job.ok()) return;
  (*job)->log().WhenHeld(
      [this, id, message = std::move(message)] { answers_.Tell(id, message); });
}

void CommandRunner::Fail(const ShardId& id, const absl::Status& why) {
  LogWarning("a command failed", {{"run", id.run},
                                  {"shard", id.shard},
                                  {"error", std::string(why.message())}});
  // Also for a shard that could not be hosted: its later commands would fail
  // likewise. `unhost` forgets it.
  shards_[id].failed = true;
  v1::ServerMessage message;
  message.mutable_failed()->set_code(static_cast<int>(why.code()));
  message.mutable_failed()->set_message(std::string(why.message()));
  answers_.Tell(id, std::move(message));
}

Hosting* CommandRunner::Find(const ShardId& id, uint64_t hosting) {
  const auto found = shards_.find(id);
  if (found == shards_.end() || found->second.id != hosting) return nullptr;
  return &found->second;
}

absl::Status CommandRunner::BeginRestore(const ShardId& id, Hosting& hosting,
                                         const std::string& folder,
                                         Saved saved) {
  PACELINE_ASSIGN_OR_RETURN(const std::shared_ptr<JobShard> job,
                            shard_->Job(id));
  const ReadBlocks read =
      saved == Saved::kEverything ? &RestoreJob : &SetInitialWeights;
  PACELINE_RETURN_IF_ERROR(disk_.Put(
      RootOf(folder), hosting.id,
      [this, id, number = hosting.id, job, folder,
       read](const DiskWorker::Cancelled& cancelled) {
        Restored(
            id, number,
            Annotate(Restore(checkpoint_roots_, *job, folder, read, cancelled),
                     absl::StrCat("restore from ", folder)));
      }));
  hosting.busy = true;
  return absl::OkStatus();
}

void CommandRunner::Restored(const ShardId& id, uint64_t hosting,
                             const absl::Status& outcome) {
  absl::MutexLock lock(&mu_);
  Hosting* const found = Find(id, hosting);
  if (found == nullptr) return;  // Unhosted meanwhile.
  found->busy = false;
  if (found->rebuilt) {
    const auto job = shard_->Job(id);
    const uint64_t epoch = job.ok() ? (*job)->epoch() : 0;
    // The coordinator looks for another server then.
    if (!outcome.ok()) Unhost(id, "it could not be rebuilt");
    answers_.TellBackup(id, epoch, outcome);
    if (!outcome.ok()) return;
  } else if (outcome.ok()) {
    LogInfo("restored a run", {{"run", id.run}});
    Done(id, kHostSequence);
  } else {
    Fail(id, outcome);
  }
  PerformWaiting(id, *found);
}

absl::Status CommandRunner::Write(const ShardId& id,
                                  const std::shared_ptr<JobShard>& job,
                                  const v1::ServerCommand& command,
                                  bool again) {
  const v1::WriteCheckpoint& write = command.write_checkpoint();
  PulledBlocks blocks;
  // A checkpoint that cannot be written is told of, and the training goes on.
  absl::Status begun;
  if (again && !job->HoldBack()) {
    begun = absl::UnavailableError("the weights that it was to be of are gone");
  } else {
    PACELINE_ASSIGN_OR_RETURN(blocks, job->TakeBlocks());
  }
  Done(id, command.sequence());
  // It is told of when it is written.
  if (again && shards_.at(id).writing.contains(write.snapshot())) {
    return absl::OkStatus();
  }
  if (begun.ok()) begun = BeginWrite(id, job, std::move(blocks), write);
  if (begun.ok()) return begun;
  LogFailure(id, &shards_.at(id), begun.message());
  Count(begun, absl::ZeroDuration(), *metrics_);
  v1::ServerMessage message;
  *message.mutable_checkpoint_written() = ToWire(write, begun);
  answers_.Tell(id, std::move(message));
  return absl::OkStatus();
}

absl::Status CommandRunner::BeginWrite(const ShardId& id,
                                       const std::shared_ptr<JobShard>& job,
                                       PulledBlocks blocks,
                                       const v1::WriteCheckpoint& write) {
  PACELINE_RETURN_IF_ERROR(CheckFileName(write.file()));
  const uint64_t hosting = shards_.at(id).id;
  PACELINE_RETURN_IF_ERROR(disk_.Put(
      RootOf(write.directory()), hosting,
      [this, id, hosting, job, write, blocks = std::move(blocks)](
          const DiskWorker::Cancelled& cancelled) mutable {
        const Clock& clock = Clock::Real();
        const absl::Time began = clock.Now();
        // The disk is not touched on any other thread, for it may hang.
        const auto outcome =
            WriteFile(checkpoint_roots_, *job, blocks, write, cancelled);
        blocks = {};  // Holds the states back from being updated in place.
        Count(outcome, clock.Now() - began, *metrics_);
        Written(id, hosting, ToWire(write, outcome));
      }));
  shards_.at(id).writing.insert(write.snapshot());
  return absl::OkStatus();
}

void CommandRunner::Written(const ShardId& id, uint64_t hosting,
                            v1::CheckpointWritten written) {
  absl::MutexLock lock(&mu_);
  Hosting* const found = Find(id, hosting);
  if (written.code() != 0) LogFailure(id, found, written.message());
  if (found == nullptr) return;  // Nobody waits for it any more.
  found->writing.erase(written.snapshot());
  if (written.code() == 0) found->write_failed = false;
  v1::ServerMessage message;
  *message.mutable_checkpoint_written() = std::move(written);
  answers_.Tell(id, std::move(message));
}

}  // namespace paceline
