#ifndef PACELINE_SERVICES_COORDINATOR_RUN_RECENT_RATE_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_RECENT_RATE_H_

#include <cstdint>
#include <deque>
#include <optional>

#include "absl/time/time.h"

namespace paceline {

// Samples a second, over about the last half minute: what a job does now, after
// a switch or with another worker, and not on the average of its life. Pure;
// times must not go back. Thread-compatible.
class RecentRate {
 public:
  // Nothing was counted before `now`.
  void Begin(absl::Time now);
  void Add(absl::Time now, int64_t samples);
  // 0 before Begin(), and if nothing was counted in that time.
  double At(absl::Time now) const;

 private:
  // One second, by its number since Begin().
  struct Second {
    int64_t number = 0;
    int64_t samples = 0;
  };

  int64_t NumberOf(absl::Time now) const;

  std::optional<absl::Time> began_;
  std::deque<Second> seconds_;  // In which something was counted.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_RECENT_RATE_H_
