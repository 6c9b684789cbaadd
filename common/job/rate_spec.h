#ifndef PACELINE_COMMON_JOB_RATE_SPEC_H_
#define PACELINE_COMMON_JOB_RATE_SPEC_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paceline {

// How a learning rate moves over a job, in shares of all of the job's samples,
// so that it can be said and checked before the data is known. Or in shares of
// the updates that these samples make if each full batch is one.
struct RateSpec {
  std::vector<double> at;  // Ascending, each in (0, 1).
  double factor = 1;       // In (0, 1]: multiplies the rate at each `at`.
  double warmup = 0;       // In [0, 1): from 0.1 of the rate up to all of it.
  bool counts_updates = false;
};

// Reads a spec:
//
//   constant[:warmup=SHARE][,count=samples|updates]
//   step:at=SHARE[|SHARE...][,factor=0.1][,warmup=SHARE][,count=...]
//
// "step:at=0.5|0.75,factor=0.1" divides the rate by ten after half and again
// after three quarters of all samples. With count=updates it does so after half
// of (all samples / batch size) updates: where a round of P batches is one
// update, P times later. INVALID_ARGUMENT, with what is wrong and what would be
// right, for anything else.
absl::StatusOr<RateSpec> ParseRateSpec(absl::string_view text);

}  // namespace paceline

#endif  // PACELINE_COMMON_JOB_RATE_SPEC_H_
