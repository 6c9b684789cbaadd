#include "services/coordinator/run/course/result_saving.h"

#include <algorithm>

#include "services/coordinator/run/course/time_limits.h"

namespace paceline {

void ResultSaving::TryNow(absl::Time now) {
  folder_ = 0;
  next_ = now;
  delay_ = absl::ZeroDuration();
}

void ResultSaving::Failed(absl::Time now, const absl::Status& why,
                          bool of_turn) {
  failure_ = why;
  if (!of_turn) return;
  folder_ = (folder_ + 1) % folders_;
  if (folder_ > 0) {
    next_ = now;
    return;
  }
  delay_ = std::clamp(2 * delay_, kSavingRetryMin, kSavingRetryMax);
  next_ = now + delay_;
}

}  // namespace paceline
