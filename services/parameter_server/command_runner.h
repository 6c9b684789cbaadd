#ifndef PACELINE_SERVICES_PARAMETER_SERVER_COMMAND_RUNNER_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_COMMAND_RUNNER_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/job/job_defaults.h"
#include "common/work_queue.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "services/parameter_server/answers.h"
#include "services/parameter_server/disk_lanes.h"
#include "services/parameter_server/folder_reports.h"
#include "services/parameter_server/replica_stream.h"
#include "services/parameter_server/server_metrics.h"
#include "services/parameter_server/shard.h"

namespace paceline {

// The first command of each run.
inline constexpr uint64_t kHostSequence = 1;

// What is taken of a checkpoint.
enum class Saved { kEverything, kWeights };

// A shard that is hosted, as its commands see it.
struct Hosting {
  uint64_t id = 0;  // Unlike that of a shard hosted before with its number.
  uint64_t last_sequence = kHostSequence;  // Commands come in order.
  // A checkpoint is being read for it, or a closing is made on its lane: what
  // comes meanwhile waits.
  bool busy = false;
  bool rebuilt = false;  // It was lost with its server.
  bool failed = false;
  bool write_failed = false;         // The last checkpoint, which was logged.
  absl::btree_set<int64_t> writing;  // Checkpoints, by their snapshots.
  std::deque<v1::ServerCommand> waiting;
  std::shared_ptr<WorkQueue> lane;         // Made when it is first needed.
  std::shared_ptr<ReplicaStream> replica;  // To the backup, if it has one.
};

// Carries out the coordinator's commands, shard by shard of its runs, and
// answers them: `done` once a numbered command has been carried out and the
// shard's backup, if it has one, knows of it; `failed` if one of a shard could
// not be. A shard that has failed hears nothing more until it is unhosted; the
// others go on.
//
// A shard is hosted as its primary or as its backup. The primary's stream to
// its backup is kept here; a backup becomes a primary by `promote`.
//
// Files are read and written on threads of their own: commands of a run that is
// still being restored wait for it, and a checkpoint is told of by
// `checkpoint_written`, also where it could not be written. Where several runs
// are hosted each makes its closings on a thread of its own, so that none waits
// for another's; a single one is spared the way to another thread.
//
// Thread-safe; commands of a shard are carried out one at a time.
class CommandRunner {
 public:
  using Send = Answers::Send;

  // Checkpoints are read and written below `checkpoint_roots` alone; anywhere
  // if there are none. Backups are dialled with `dial`. Both pointers outlive
  // the runner.
  CommandRunner(Shard* shard, ServerMetrics* metrics,
                std::vector<std::string> checkpoint_roots = {},
                ReplicaStream::Dial dial = nullptr);
  ~CommandRunner();

  void SetLease(absl::Duration lease);  // For the patience with backups.

  // Answers go to `send` from now on.
  void Begin(Send send);

  // One command; `sequence` counts from 1 for each shard, with `host`.
  void Run(const v1::ServerCommand& command);
  // Whether Run() takes little more than another thread takes to wake up.
  bool IsBrief(const v1::ServerCommand& command) const;

  std::vector<v1::HeldShard> Held();  // Drops what has failed.
  // What is hosted is dropped, what is being read or written is cancelled.
  void DropAll(absl::string_view reason);

  // What a server does between commands, about ten times a second: ends pulls
  // that waited too long, keeps the gauges up to date, and tells what it has
  // found of the coordinator's checkpoint folders.
  void TakeTurn(absl::Time now);
  uint64_t replica_lag() const { return replica_lag_; }  // Of that turn.

  // Takes no new runs: the server is stopping.
  void Refuse();
  bool idle() const;  // No run is hosted, nothing is being read or written.
  // What is wrong with the coordinator's checkpoint folders. Does not block.
  absl::Status folders() const { return folders_.status(); }

 private:
  // Streams and lanes that are over. Their ends are waited for, so never with
  // the lock, which what they do may need, nor on a lane.
  using Retired = std::vector<std::shared_ptr<void>>;

  // A command of a shard that is not busy, or its `host`.
  void Perform(const ShardId& id, const v1::ServerCommand& command)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What came while it was busy, until it is so again.
  void PerformWaiting(const ShardId& id, Hosting& hosting)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Obey(const ShardId& id, const v1::ServerCommand& command)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Host(const ShardId& id, const v1::ServerCommand& command)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // It is hosted in place of a server that was lost with it.
  absl::Status Rebuild(const ShardId& id, const v1::ServerCommand& command)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Not numbered; of a shard that is hosted.
  void Replicate(const ShardId& id, const v1::Replicate& order)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Promote(const ShardId& id, const v1::Promote& order)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status BeginRestore(const ShardId& id, Hosting& hosting,
                            const std::string& folder, Saved saved)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Restored(const ShardId& id, uint64_t hosting,
                const absl::Status& outcome);
  absl::Status MakeRoom(const ShardId& id, const v1::HostJob& host)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // One that a primary before this one has carried out.
  absl::Status Repeat(const ShardId& id, const v1::ServerCommand& command)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void UnhostAll(const ShardId& id, const v1::Unhost& order)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Unhost(const ShardId& id, const std::string& reason)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // A numbered command other than host, on the run's job.
  absl::Status Execute(const ShardId& id, const v1::ServerCommand& command)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // On the shard's lane, and then Closed().
  absl::Status CloseAside(const ShardId& id, std::shared_ptr<JobShard> job,
                          const v1::ServerCommand& command)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Closed(const ShardId& id, uint64_t hosting,
              const v1::ServerCommand& command,
              absl::StatusOr<v1::CommandDone> done);
  absl::Status Write(const ShardId& id, const std::shared_ptr<JobShard>& job,
                     const v1::ServerCommand& command, bool again = false)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status BeginWrite(const ShardId& id,
                          const std::shared_ptr<JobShard>& job,
                          PulledBlocks blocks, const v1::WriteCheckpoint& write)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Written(const ShardId& id, uint64_t hosting,
               v1::CheckpointWritten written);

  // Once the shard's backup knows of it, too.
  void Done(const ShardId& id, uint64_t sequence, v1::CommandDone done = {})
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Fail(const ShardId& id, const absl::Status& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Null if the run is not hosted, or is hosted anew.
  Hosting* Find(const ShardId& id, uint64_t hosting)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Shard* const shard_;
  ServerMetrics* const metrics_;
  const std::vector<std::string> checkpoint_roots_;
  FolderReports folders_;
  const ReplicaStream::Dial dial_;
  std::atomic<int64_t> lease_ms_ = absl::ToInt64Milliseconds(kDefaultLease);
  std::atomic<uint64_t> replica_lag_ = 0;
  Answers answers_;

  mutable absl::Mutex mu_;
  Retired retired_ ABSL_GUARDED_BY(mu_);
  bool refusing_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t next_hosting_ ABSL_GUARDED_BY(mu_) = 1;
  std::map<ShardId, Hosting> shards_ ABSL_GUARDED_BY(mu_);
  DiskLanes disk_;  // Last: its tasks use the above.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_COMMAND_RUNNER_H_
