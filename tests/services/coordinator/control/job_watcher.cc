#include "tests/services/coordinator/control/job_watcher.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/services/coordinator/control/patience.h"

namespace paceline {

JobWatcher::JobWatcher(std::shared_ptr<JobEvents> events)
    : events_(std::move(events)) {
  // One call may still be under way after the end of the subscription.
  subscription_ = events_->Subscribe([signal = signal_] {
    absl::MutexLock lock(&signal->mu);
    ++signal->changes;
  });
  first_ = events_->Next(cursor_);
}

JobWatcher::~JobWatcher() { events_->Unsubscribe(subscription_); }

std::optional<v1::WatchJobResponse> JobWatcher::Next() {
  if (first_.has_value()) return std::exchange(first_, std::nullopt);
  return events_->Next(cursor_);
}

bool JobWatcher::AwaitChange() {
  const auto changed = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(signal_->mu) {
    return signal_->changes > seen_;
  };
  absl::MutexLock lock(&signal_->mu);
  const bool came =
      signal_->mu.AwaitWithTimeout(absl::Condition(&changed), kPatience);
  seen_ = signal_->changes;
  return came;
}

v1::WatchJobResponse JobWatcher::Await(
    const std::string& what,
    const std::function<bool(const v1::WatchJobResponse&)>& wanted) {
  while (true) {
    std::optional<v1::WatchJobResponse> next = Next();
    if (next.has_value()) {
      if (wanted(*next)) return *std::move(next);
      continue;
    }
    if (const auto end = events_->EndedAt(cursor_)) {
      ADD_FAILURE() << "the watch ended before " << what << ": " << *end;
      return {};
    }
    if (AwaitChange()) continue;
    ADD_FAILURE() << "nothing came, waited for " << what;
    return {};
  }
}

v1::Job JobWatcher::AwaitState(v1::Job::State state) {
  return Await(v1::Job::State_Name(state),
               [state](const v1::WatchJobResponse& response) {
                 return response.has_job() && response.job().state() == state;
               })
      .job();
}

v1::Job JobWatcher::AwaitReason(const std::string& part) {
  return Await(part,
               [&](const v1::WatchJobResponse& response) {
                 return absl::StrContains(response.job().state_reason(), part);
               })
      .job();
}

v1::Checkpoint JobWatcher::AwaitCheckpoint(v1::Checkpoint::State state) {
  return Await(absl::StrCat("a checkpoint ", v1::Checkpoint::State_Name(state)),
               [state](const v1::WatchJobResponse& response) {
                 return response.has_checkpoint() &&
                        response.checkpoint().state() == state;
               })
      .checkpoint();
}

absl::Status JobWatcher::AwaitEnd() {
  while (true) {
    if (Next().has_value()) continue;
    if (const auto end = events_->EndedAt(cursor_)) return *end;
    if (!AwaitChange()) return absl::UnknownError("the watch has not ended");
  }
}

}  // namespace paceline
