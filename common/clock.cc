#include "common/clock.h"

#include <chrono>

#include "common/futex_clock.h"

namespace paceline {
namespace {

class MonotonicClock : public Clock {
 public:
  // Wait() goes by it as well.
  MonotonicClock() { UseFutexClock(); }

  absl::Time Now() const override {
    const auto since_boot = std::chrono::steady_clock::now().time_since_epoch();
    return absl::UnixEpoch() + absl::FromChrono(since_boot);
  }
};

}  // namespace

void Clock::Wait(absl::CondVar& condition, absl::Mutex& mu,
                 absl::Time deadline) const {
  condition.WaitWithTimeout(&mu, deadline - Now());
}

const Clock& Clock::Real() {
  static const MonotonicClock clock;
  return clock;
}

}  // namespace paceline
