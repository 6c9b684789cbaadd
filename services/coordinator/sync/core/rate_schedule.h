#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_CORE_RATE_SCHEDULE_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_CORE_RATE_SCHEDULE_H_

#include <cstdint>
#include <vector>

#include "common/job/rate_spec.h"

namespace paceline {

// The learning rate as a function of how far a job is: of the samples counted,
// so that a step falls on the same sample under every paradigm. Or of the
// updates made, as papers whose schedules did that are repeated.
// Thread-compatible.
class RateSchedule {
 public:
  // A rate that is always 0.01.
  RateSchedule() = default;

  // `spec` of a job with `samples_total` samples in all of its epochs and
  // batches of `batch_size`.  REQUIRES: `base_rate` is positive and finite;
  // `samples_total` >= 0; `batch_size` > 0.
  explicit RateSchedule(double base_rate, const RateSpec& spec = {},
                        int64_t samples_total = 0, int64_t batch_size = 1);

  // The rate once `samples` samples are counted and `updates` updates made;
  // neither is below 0.
  double RateAt(int64_t samples, int64_t updates) const;

 private:
  // From `from` on, and until the next step, the rate is `rate`.
  struct Step {
    int64_t from;
    double rate;
  };

  // Sorted by `from`, in samples; the first is at 0.
  std::vector<Step> steps_ = {{0, 0.01}};
  int64_t warmup_samples_ = 0;
  // If not 0, each update stands for so many samples, and none is counted.
  int64_t samples_per_update_ = 0;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_CORE_RATE_SCHEDULE_H_
