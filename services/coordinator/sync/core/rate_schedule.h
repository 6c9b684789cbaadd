#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_CORE_RATE_SCHEDULE_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_CORE_RATE_SCHEDULE_H_

#include <cstdint>
#include <vector>

#include "common/job/rate_spec.h"

namespace paceline {

// The learning rate as a function of the samples counted. Counting updates
// instead would lower the rate of asynchronous paradigms too early, by a
// factor of the number of workers (algorithms.md 2.7).  Thread-compatible.
class RateSchedule {
 public:
  // A rate that is always 0.01.
  RateSchedule() = default;

  // `spec` of a job with `samples_total` samples in all of its epochs.
  // REQUIRES: `base_rate` is positive and finite; `samples_total` >= 0.
  explicit RateSchedule(double base_rate, const RateSpec& spec = {},
                        int64_t samples_total = 0);

  // The rate once `samples` samples are counted; `samples` >= 0.
  double RateAt(int64_t samples) const;

 private:
  // From `from` samples on, and until the next step, the rate is `rate`.
  struct Step {
    int64_t from;
    double rate;
  };

  // Sorted by `from`; the first is at 0.
  std::vector<Step> steps_ = {{0, 0.01}};
  int64_t warmup_samples_ = 0;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_CORE_RATE_SCHEDULE_H_
