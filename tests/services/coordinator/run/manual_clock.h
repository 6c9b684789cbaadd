#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_RUN_MANUAL_CLOCK_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_RUN_MANUAL_CLOCK_H_

#include <atomic>
#include <cstdint>

#include "absl/time/time.h"
#include "common/clock.h"

namespace paceline {

// A clock that goes when the test says so. Thread-safe.
class ManualClock : public Clock {
 public:
  absl::Time Now() const override {
    return absl::UnixEpoch() + absl::Nanoseconds(nanos_.load());
  }

  // Looks again soon: the test may have advanced it.
  void Wait(absl::CondVar& condition, absl::Mutex& mu,
            absl::Time /*deadline*/) const override {
    condition.WaitWithTimeout(&mu, absl::Milliseconds(2));
  }
  void Advance(absl::Duration by) { nanos_ += absl::ToInt64Nanoseconds(by); }

 private:
  std::atomic<int64_t> nanos_ = 3'600'000'000'000;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_RUN_MANUAL_CLOCK_H_
