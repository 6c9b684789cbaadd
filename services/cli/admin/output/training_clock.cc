#include "services/cli/admin/output/training_clock.h"

#include <algorithm>

#include "services/cli/admin/output/table.h"

namespace paceline {

TrainingClock::TrainingClock(const v1::Job& job,
                             const std::vector<v1::Decision>& decisions)
    : start_(
          ToTime(job.has_start_time() ? job.start_time() : job.create_time())) {
  for (const v1::Decision& decision : decisions) {
    // What came later is of a course that the job has gone back from.
    while (!known_.empty() && known_.back().seconds > decision.seconds()) {
      known_.pop_back();
    }
    // Before the first grant no second is counted.
    if (decision.seconds() > 0) {
      known_.push_back({decision.seconds(), ToTime(decision.time())});
    }
  }
}

absl::Time TrainingClock::At(double seconds) const {
  const auto after = std::lower_bound(
      known_.begin(), known_.end(), seconds,
      [](const Known& known, double value) { return known.seconds < value; });
  if (after == known_.begin()) return start_ + absl::Seconds(seconds);
  const Known& before = *(after - 1);
  return before.time + absl::Seconds(seconds - before.seconds);
}

}  // namespace paceline
