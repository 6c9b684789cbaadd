#ifndef PACELINE_COMMON_JOB_METRIC_TARGET_H_
#define PACELINE_COMMON_JOB_METRIC_TARGET_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paceline {

// Names of metrics that every built-in model has. A program may have others.
inline constexpr absl::string_view kAccuracyMetric = "accuracy";
inline constexpr absl::string_view kLossMetric = "loss";

// A value that a metric of a job's evaluations is to reach.
struct MetricTarget {
  std::string metric;
  double value = 0;      // Finite.
  bool at_least = true;  // Or else at most.

  bool ReachedBy(double measured) const {
    return at_least ? measured >= value : measured <= value;
  }

  friend bool operator==(const MetricTarget&, const MetricTarget&) = default;
};

// Reads "perplexity<=20", "accuracy>=0.97". INVALID_ARGUMENT, saying what is
// allowed, for anything else.
absl::StatusOr<MetricTarget> ParseMetricTarget(absl::string_view text);

// The reverse.
std::string FormatMetricTarget(const MetricTarget& target);

}  // namespace paceline

#endif  // PACELINE_COMMON_JOB_METRIC_TARGET_H_
