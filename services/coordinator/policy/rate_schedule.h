#ifndef PACELINE_SERVICES_COORDINATOR_POLICY_RATE_SCHEDULE_H_
#define PACELINE_SERVICES_COORDINATOR_POLICY_RATE_SCHEDULE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paceline {

// How a learning rate moves over a job, in shares of all of the job's samples,
// so that it can be said and checked before the data is known.
struct RateSpec {
  std::vector<double> at;  // Ascending, each in (0, 1).
  double factor = 1;       // In (0, 1]: multiplies the rate at each `at`.
  double warmup = 0;       // In [0, 1): from 0.1 of the rate up to all of it.
};

// Reads a spec:
//
//   constant[:warmup=SHARE]
//   step:at=SHARE[|SHARE...][,factor=0.1][,warmup=SHARE]
//
// "step:at=0.5|0.75,factor=0.1" divides the rate by ten after half and again
// after three quarters of all samples. INVALID_ARGUMENT, with what is wrong
// and what would be right, for anything else.
absl::StatusOr<RateSpec> ParseRateSpec(absl::string_view text);

// The learning rate as a function of the samples counted. Counting updates
// instead would lower the rate of asynchronous paradigms too early, by a
// factor of the number of workers (algorithms.md 2.7).  Thread-compatible.
class RateSchedule {
 public:
  // 0.01, always.
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

  std::vector<Step> steps_ = {{0, 0.01}};  // By `from`; the first is at 0.
  int64_t warmup_samples_ = 0;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_POLICY_RATE_SCHEDULE_H_
