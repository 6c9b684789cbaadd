#ifndef PACELINE_SERVICES_PARAMETER_SERVER_COMMAND_RUNNER_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_COMMAND_RUNNER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "services/parameter_server/disk_lanes.h"
#include "services/parameter_server/folder_reports.h"
#include "services/parameter_server/server_metrics.h"
#include "services/parameter_server/shard.h"

namespace paceline {

// Carries out the coordinator's commands, run by run, and answers them: `done`
// once a numbered command has been carried out, `failed` if one of a run could
// not be. A run that has failed hears nothing more until it is unhosted; the
// others go on.
//
// Files are read and written on threads of their own: commands of a run that is
// still being restored wait for it, and a checkpoint is told of by
// `checkpoint_written`, also where it could not be written.
//
// Thread-safe; commands are carried out one at a time.
class CommandRunner {
 public:
  // Takes an answer; may be called from any thread, and must not block.
  using Send = std::function<void(v1::ServerMessage)>;

  // Checkpoints are read and written below `checkpoint_roots` alone; anywhere
  // if there are none. Both pointers outlive the runner.
  CommandRunner(Shard* shard, ServerMetrics* metrics,
                std::vector<std::string> checkpoint_roots = {});

  // Answers go to `send` from now on.
  void Begin(Send send);

  // One command; `sequence` counts from 1 for each run, with `host`.
  void Run(const v1::ServerCommand& command);

  // The coordinator is gone: everything that is hosted is dropped, what is
  // being read or written is cancelled, and nothing is sent any more.
  void End(absl::string_view reason);

  // What a server does between commands, about ten times a second: ends pulls
  // that waited too long, keeps the gauges up to date, and tells what it has
  // found of the coordinator's checkpoint folders.
  void TakeTurn(absl::Time now);

  // Takes no new runs: the server is stopping.
  void Refuse();
  // Whether no run is hosted and nothing is being read or written.
  bool idle() const;
  // What is wrong with the coordinator's checkpoint folders, as they are seen
  // here. Does not block.
  absl::Status folders() const { return folders_.status(); }

 private:
  static constexpr uint64_t kHostSequence = 1;  // The first of each run.

  struct Hosting {
    uint64_t id = 0;  // Unlike that of a run hosted before with its number.
    uint64_t last_sequence = kHostSequence;  // Commands come in order.
    bool restoring = false;
    bool failed = false;
    bool write_failed = false;  // The last checkpoint, which was logged.
    std::deque<v1::ServerCommand> waiting;  // For the restoration.
  };

  absl::Status Obey(uint64_t run, const v1::ServerCommand& command)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Host(uint64_t run, const v1::ServerCommand& command)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What is taken of a checkpoint.
  enum class Saved { kEverything, kWeights };
  absl::Status BeginRestore(uint64_t run, Hosting& hosting,
                            const std::string& folder, Saved saved)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Restored(uint64_t run, uint64_t hosting, const absl::Status& outcome);
  void Unhost(uint64_t run, const std::string& reason)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // A numbered command other than host, on the run's job.
  absl::Status Execute(uint64_t run, const v1::ServerCommand& command)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Close(JobShard& job, const v1::CloseRound& close);
  absl::Status Write(uint64_t run, const std::shared_ptr<JobShard>& job,
                     const v1::ServerCommand& command)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status BeginWrite(uint64_t run, const std::shared_ptr<JobShard>& job,
                          PulledBlocks blocks, const v1::WriteCheckpoint& write)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Written(uint64_t run, uint64_t hosting, v1::CheckpointWritten written);
  void TellFailure(uint64_t run, absl::string_view why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  void Done(uint64_t run, uint64_t sequence, v1::CommandDone done = {})
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Fail(uint64_t run, const absl::Status& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Answer(uint64_t run, v1::ServerMessage message)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Null if the run is not hosted, or is hosted anew.
  Hosting* Find(uint64_t run, uint64_t hosting)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Shard* const shard_;
  ServerMetrics* const metrics_;
  const std::vector<std::string> checkpoint_roots_;
  FolderReports folders_;

  mutable absl::Mutex mu_;
  Send send_ ABSL_GUARDED_BY(mu_);  // Null between streams.
  bool refusing_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t next_hosting_ ABSL_GUARDED_BY(mu_) = 1;
  std::map<uint64_t, Hosting> runs_ ABSL_GUARDED_BY(mu_);
  DiskLanes disk_;  // Last: its tasks use the above.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_COMMAND_RUNNER_H_
