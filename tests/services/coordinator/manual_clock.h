#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_MANUAL_CLOCK_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_MANUAL_CLOCK_H_

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

  void Advance(absl::Duration by) { nanos_ += absl::ToInt64Nanoseconds(by); }

 private:
  std::atomic<int64_t> nanos_ = 3'600'000'000'000;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_MANUAL_CLOCK_H_
