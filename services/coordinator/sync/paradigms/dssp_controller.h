#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_DSSP_CONTROLLER_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_DSSP_CONTROLLER_H_

#include <cstdint>

#include "common/job/paradigm_spec.h"

namespace paceline {

// The controller knows this of a worker: when it pushed last, and the interval
// at which it is expected to go on. Both are nanoseconds; the zero of the clock
// does not matter.
struct PushTimes {
  int64_t last_ns = 0;
  int64_t interval_ns = 0;  // At least 0.

  friend bool operator==(const PushTimes&, const PushTimes&) = default;
};

// The pair that the controller chose.
struct Allowance {
  int64_t r = 0;            // Further iterations of the fast worker.
  int64_t k = 0;            // Index of the slow worker's push that it meets.
  int64_t distance_ns = 0;  // Between those two predicted pushes; at least 0.

  friend bool operator==(const Allowance&, const Allowance&) = default;
};

// The synchronization controller of DSSP (Zhao, An, Liu, Chen, ICDCS 2019,
// Algorithm 2): with
//
//   fast push r = fast.last + r * fast.interval
//   slow push k = slow.last + (k + 1) * slow.interval
//
// the pair with r and k in [0, r_max] whose pushes lie closest together; the
// smallest r of several, then the smallest k. Index 0 is the present push of
// the fast worker but the *next* one of the slow. All zeros if the rule admits
// no pair: stop now.
//
// Takes O(r_max). Intervals above 2^61 / (r_max + 1) ns (for r_max = 10,000,
// two days) count as that long.
// REQUIRES: r_max >= 0; times within 2^61 ns (73 years) of each other.
Allowance ChooseAllowance(const PushTimes& fast, const PushTimes& slow,
                          int64_t r_max, PairRule rule);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_DSSP_CONTROLLER_H_
