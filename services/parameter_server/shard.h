#ifndef PACELINE_SERVICES_PARAMETER_SERVER_SHARD_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_SHARD_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <tuple>
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
  // The same with what the jobs' paradigms make the server hold: half as much
  // again.
  uint64_t max_bytes() const {
    const uint64_t room =
        std::numeric_limits<uint64_t>::max() - max_state_bytes;
    return max_state_bytes + std::min(max_state_bytes / 2, room);
  }
  // Distinct states that snapshots refer to, as JobShard::Create() counts.
  uint64_t max_snapshot_bytes = uint64_t{16} << 30;

  // For a machine or container of so much memory: half of it for the state and
  // a quarter for snapshots. The rest is for what paradigms need, updates
  // beside readers, and what is on its way. The defaults above if it is 0: not
  // known.
  static ServerLimits ForMemory(uint64_t bytes);
};

// A part of a job that one server can have: of a run, which is one job from its
// start or resumption on.
struct ShardId {
  uint64_t run = 0;
  uint32_t shard = 0;

  // The first of the run, which is the only one of most.
  ShardId(uint64_t of_run) : run(of_run) {}  // NOLINT(google-explicit-*)
  ShardId(uint64_t of_run, uint32_t number) : run(of_run), shard(number) {}

  friend bool operator==(const ShardId&, const ShardId&) = default;
  friend bool operator<(const ShardId& a, const ShardId& b) {
    return std::tie(a.run, a.shard) < std::tie(b.run, b.shard);
  }
};

// The jobs of one parameter server, by shards of their runs. None sees another.
// Thread-safe.
class Shard {
 public:
  explicit Shard(const ServerLimits& limits = {})
      : limits_(limits),
        snapshot_bytes_(
            std::make_shared<ByteBudget>(limits.max_snapshot_bytes)) {}
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  // Makes room for the shard. INVALID_ARGUMENT, RESOURCE_EXHAUSTED as
  // ValidateShardConfig(), and for run 0, which is none. RESOURCE_EXHAUSTED too
  // where the jobs exceed the limits together. FAILED_PRECONDITION: the shard
  // is hosted already. UNAVAILABLE: the server is stopping. `rule_bytes`: what
  // the job's paradigm makes the server hold at most, beside its state.
  absl::Status Configure(const ShardId& id, ShardConfig config,
                         uint64_t rule_bytes = 0);
  // The paradigm is another one, which has been admitted. Nothing happens if
  // the shard is not hosted.
  void SetRuleBytes(const ShardId& id, uint64_t rule_bytes);

  // The weights of the shards that are configured from now on lie where workers
  // of this machine may read them.
  void ShareWeights() ABSL_LOCKS_EXCLUDED(mu_);

  // The shard's job; whoever holds it may use it also after Remove().
  // NOT_FOUND: it is not hosted here. UNAVAILABLE: stopping.
  absl::StatusOr<std::shared_ptr<JobShard>> Job(const ShardId& id) const;
  // That of the one shard of the run that is hosted here, whose number whoever
  // asks does not know. As Job().
  absl::StatusOr<std::shared_ptr<JobShard>> OnlyJobOf(uint64_t run) const;

  // All of them.
  std::vector<std::shared_ptr<JobShard>> Jobs() const;
  // What all jobs take, as StateBytes() counts.
  uint64_t state_bytes() const;

  // Stops the shard's job, if it is hosted, and forgets it.
  void Remove(const ShardId& id, absl::string_view reason);
  // Stops and forgets all jobs.
  void RemoveAll(absl::string_view reason);

  // Stops all jobs and refuses every later one.
  void Stop(absl::string_view reason);

 private:
  struct Hosted {
    std::shared_ptr<JobShard> job;
    uint64_t bytes = 0;
    uint64_t rule_bytes = 0;
  };

  const ServerLimits limits_;
  const std::shared_ptr<ByteBudget> snapshot_bytes_;
  mutable absl::Mutex mu_;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
  bool shares_weights_ ABSL_GUARDED_BY(mu_) = false;
  std::map<ShardId, Hosted> jobs_ ABSL_GUARDED_BY(mu_);
  uint64_t state_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t rule_bytes_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_SHARD_H_
