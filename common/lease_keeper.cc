#include "common/lease_keeper.h"

#include <utility>

namespace paceline {

void LeaseKeeper::Start(std::function<void()> beat,
                        std::function<void()> silent) {
  thread_ = std::thread([this, beat = std::move(beat),
                         silent = std::move(silent)] { Keep(beat, silent); });
}

void LeaseKeeper::Stop() {
  {
    absl::MutexLock lock(&mu_);
    ending_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void LeaseKeeper::Heard() {
  absl::MutexLock lock(&mu_);
  last_heard_ = clock_->Now();
}

void LeaseKeeper::SetLease(absl::Duration lease) {
  absl::MutexLock lock(&mu_);
  lease_ = lease;
  lease_changed_ = true;
}

absl::Duration LeaseKeeper::lease() const {
  absl::MutexLock lock(&mu_);
  return lease_;
}

void LeaseKeeper::Keep(const std::function<void()>& beat,
                       const std::function<void()>& silent) {
  const auto woken = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return ending_ || lease_changed_;
  };
  while (true) {
    bool given_up = false;
    {
      absl::MutexLock lock(&mu_);
      mu_.AwaitWithTimeout(absl::Condition(&woken), lease_ / 3);
      if (ending_) return;
      lease_changed_ = false;
      given_up = clock_->Now() - last_heard_ > 2 * lease_;
    }
    if (given_up) return silent();
    beat();
  }
}

}  // namespace paceline
