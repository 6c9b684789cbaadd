#ifndef PACELINE_SERVICES_PARAMETER_SERVER_SHARD_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_SHARD_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "services/parameter_server/job_shard.h"

namespace paceline {

// What one server holds of all its jobs at most.
struct ServerLimits {
  size_t max_jobs = 256;
  // Weights and optimizer state, as StateBytes() counts.
  uint64_t max_state_bytes = uint64_t{64} << 30;
  // Distinct states that snapshots refer to, as JobShard::Create() counts.
  uint64_t max_snapshot_bytes = uint64_t{16} << 30;

  // For a machine or container of so much memory: half of it for the state and
  // a quarter for snapshots. The rest is for updates beside readers, rounds,
  // and what is on its way. The defaults above if it is 0: not known.
  static ServerLimits ForMemory(uint64_t bytes);
};

// The jobs of one parameter server, by the number of their run: one job from
// its start or resumption on. None sees another. Thread-safe.
class Shard {
 public:
  explicit Shard(const ServerLimits& limits = {})
      : limits_(limits),
        snapshot_bytes_(
            std::make_shared<ByteBudget>(limits.max_snapshot_bytes)) {}
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  // Makes room for the run. INVALID_ARGUMENT, RESOURCE_EXHAUSTED as
  // ValidateShardConfig(), and for run 0, which is none. RESOURCE_EXHAUSTED too
  // where the jobs exceed the limits together. FAILED_PRECONDITION: the run is
  // hosted already. UNAVAILABLE: the server is stopping.
  absl::Status Configure(uint64_t run, ShardConfig config);

  // The run's job; whoever holds it may use it also after Remove().
  // NOT_FOUND: it is not hosted here. UNAVAILABLE: stopping.
  absl::StatusOr<std::shared_ptr<JobShard>> Job(uint64_t run) const;

  // All of them.
  std::vector<std::shared_ptr<JobShard>> Jobs() const;
  // What all jobs take, as StateBytes() counts.
  uint64_t state_bytes() const;

  // Stops the run's job, if it is hosted, and forgets it.
  void Remove(uint64_t run, absl::string_view reason);
  // Stops and forgets all jobs.
  void RemoveAll(absl::string_view reason);

  // Stops all jobs and refuses every later one.
  void Stop(absl::string_view reason);

 private:
  struct Hosted {
    std::shared_ptr<JobShard> job;
    uint64_t bytes = 0;
  };

  const ServerLimits limits_;
  const std::shared_ptr<ByteBudget> snapshot_bytes_;
  mutable absl::Mutex mu_;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
  std::map<uint64_t, Hosted> jobs_ ABSL_GUARDED_BY(mu_);
  uint64_t state_bytes_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_SHARD_H_
