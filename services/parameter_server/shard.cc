#include "services/parameter_server/shard.h"

#include <utility>

#include "common/status.h"

namespace paceline {

absl::Status Shard::Configure(ShardConfig config) {
  absl::MutexLock lock(&mu_);
  PACELINE_RETURN_IF_ERROR(status_);
  if (job_ != nullptr) {
    if (job_->config() == config) return absl::OkStatus();
    return absl::FailedPreconditionError(
        "this server is configured for another job; remove that one first");
  }
  PACELINE_ASSIGN_OR_RETURN(job_, JobShard::Create(std::move(config)));
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<JobShard>> Shard::Job() const {
  absl::MutexLock lock(&mu_);
  PACELINE_RETURN_IF_ERROR(status_);
  if (job_ == nullptr) {
    return absl::FailedPreconditionError(
        "no job is configured on this server yet");
  }
  return job_;
}

void Shard::Remove(absl::string_view reason) {
  std::shared_ptr<JobShard> removed;
  {
    absl::MutexLock lock(&mu_);
    removed.swap(job_);
  }
  if (removed != nullptr) removed->Stop(reason);
}

void Shard::Stop(absl::string_view reason) {
  std::shared_ptr<JobShard> stopped;
  {
    absl::MutexLock lock(&mu_);
    if (status_.ok()) status_ = absl::UnavailableError(reason);
    stopped = job_;
  }
  if (stopped != nullptr) stopped->Stop(reason);
}

}  // namespace paceline
