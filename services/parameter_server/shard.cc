#include "services/parameter_server/shard.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"

namespace paceline {

namespace {

absl::Status NotHosted(uint64_t run) {
  return absl::NotFoundError(absl::StrCat(
      "run ", run, " is not hosted by this server, or not any more"));
}

}  // namespace

ServerLimits ServerLimits::ForMemory(uint64_t bytes) {
  ServerLimits limits;
  if (bytes == 0) return limits;
  limits.max_state_bytes = bytes / 2;
  limits.max_snapshot_bytes = bytes / 4;
  return limits;
}

absl::Status Shard::Configure(const ShardId& id, ShardConfig config,
                              uint64_t rule_bytes) {
  if (id.run == 0)
    return absl::InvalidArgumentError("a run has a number above 0");
  config.limits.max_state_bytes = limits_.max_state_bytes;
  // Before the lock: building a large job takes time.
  PACELINE_RETURN_IF_ERROR(ValidateShardConfig(config));
  const uint64_t bytes = StateBytes(config);
  absl::MutexLock lock(&mu_);
  PACELINE_RETURN_IF_ERROR(status_);
  if (jobs_.contains(id)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "shard ", id.shard, " of run ", id.run, " is hosted here already"));
  }
  if (jobs_.size() >= limits_.max_jobs) {
    return absl::ResourceExhaustedError(
        absl::StrCat("this server hosts ", jobs_.size(),
                     " jobs, the most allowed; end one, or add servers"));
  }
  if (bytes > limits_.max_state_bytes - state_bytes_) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the job's blocks take ", bytes, " bytes with their optimizer state; ",
        state_bytes_, " of this server's ", limits_.max_state_bytes,
        " are taken: end a job, add servers, or raise --max-parameter-bytes"));
  }
  const uint64_t taken = state_bytes_ + rule_bytes_;
  if (taken + bytes > limits_.max_bytes() ||
      rule_bytes > limits_.max_bytes() - taken - bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the job's paradigm makes the server hold ", rule_bytes,
        " bytes beside its ", bytes, " of blocks; ", taken,
        " of this server's ", limits_.max_bytes(),
        " are taken: choose another paradigm, end a job, add servers, or raise "
        "--max-parameter-bytes"));
  }
  config.shares_weights = shares_weights_;
  PACELINE_ASSIGN_OR_RETURN(
      std::unique_ptr<JobShard> job,
      JobShard::Create(std::move(config), snapshot_bytes_));
  jobs_[id] = {std::move(job), bytes, rule_bytes};
  state_bytes_ += bytes;
  rule_bytes_ += rule_bytes;
  return absl::OkStatus();
}

void Shard::ShareWeights() {
  absl::MutexLock lock(&mu_);
  shares_weights_ = true;
}

void Shard::SetRuleBytes(const ShardId& id, uint64_t rule_bytes) {
  absl::MutexLock lock(&mu_);
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return;
  rule_bytes_ -= std::exchange(found->second.rule_bytes, rule_bytes);
  rule_bytes_ += rule_bytes;
}

absl::StatusOr<std::shared_ptr<JobShard>> Shard::Job(const ShardId& id) const {
  absl::MutexLock lock(&mu_);
  PACELINE_RETURN_IF_ERROR(status_);
  const auto found = jobs_.find(id);
  if (found != jobs_.end()) return found->second.job;
  return NotHosted(id.run);
}

absl::StatusOr<std::shared_ptr<JobShard>> Shard::OnlyJobOf(uint64_t run) const {
  absl::MutexLock lock(&mu_);
  PACELINE_RETURN_IF_ERROR(status_);
  const auto first = jobs_.lower_bound(ShardId(run));
  if (first == jobs_.end() || first->first.run != run) return NotHosted(run);
  const auto second = std::next(first);
  if (second == jobs_.end() || second->first.run != run) {
    return first->second.job;
  }
  return absl::NotFoundError(
      absl::StrCat("several shards of run ", run,
                   " are hosted by this server: one must be named"));
}

std::vector<std::shared_ptr<JobShard>> Shard::Jobs() const {
  absl::MutexLock lock(&mu_);
  std::vector<std::shared_ptr<JobShard>> jobs;
  jobs.reserve(jobs_.size());
  for (const auto& [id, hosted] : jobs_) jobs.push_back(hosted.job);
  return jobs;
}

uint64_t Shard::state_bytes() const {
  absl::MutexLock lock(&mu_);
  return state_bytes_;
}

void Shard::Remove(const ShardId& id, absl::string_view reason) {
  Hosted removed;  // Stopped and freed outside the lock.
  {
    absl::MutexLock lock(&mu_);
    const auto found = jobs_.find(id);
    if (found == jobs_.end()) return;
    removed = std::move(found->second);
    state_bytes_ -= removed.bytes;
    rule_bytes_ -= removed.rule_bytes;
    jobs_.erase(found);
  }
  removed.job->Stop(reason);
}

void Shard::RemoveAll(absl::string_view reason) {
  std::map<ShardId, Hosted> removed;
  {
    absl::MutexLock lock(&mu_);
    removed.swap(jobs_);
    state_bytes_ = 0;
    rule_bytes_ = 0;
  }
  for (const auto& [id, hosted] : removed) hosted.job->Stop(reason);
}

void Shard::Stop(absl::string_view reason) {
  {
    absl::MutexLock lock(&mu_);
    if (status_.ok()) status_ = absl::UnavailableError(reason);
  }
  for (const auto& job : Jobs()) job->Stop(reason);
}

}  // namespace paceline
