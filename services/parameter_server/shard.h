#ifndef PACELINE_SERVICES_PARAMETER_SERVER_SHARD_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_SHARD_H_

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "services/parameter_server/job_shard.h"

namespace paceline {

// The jobs of one parameter server; for now there is one. Thread-safe.
class Shard {
 public:
  Shard() = default;
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  // Makes room for the job; repeating it with the same config changes nothing.
  // INVALID_ARGUMENT, RESOURCE_EXHAUSTED as ValidateShardConfig().
  // FAILED_PRECONDITION: the server hosts another job, or this one otherwise.
  // UNAVAILABLE: it is stopping.
  absl::Status Configure(ShardConfig config);

  // The job; whoever holds it may use it also after Remove().
  // FAILED_PRECONDITION: nothing is configured. UNAVAILABLE: stopping.
  absl::StatusOr<std::shared_ptr<JobShard>> Job() const;

  // Stops the job, if there is one, and forgets it.
  void Remove(absl::string_view reason);

  // Stops the job and refuses every later one.
  void Stop(absl::string_view reason);

 private:
  mutable absl::Mutex mu_;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<JobShard> job_ ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_SHARD_H_
