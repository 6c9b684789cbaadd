#ifndef PACELINE_SERVICES_CLI_TARGET_TIMES_H_
#define PACELINE_SERVICES_CLI_TARGET_TIMES_H_

#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "services/cli/json_fields.h"
#include "services/coordinator/accuracy.h"

namespace paceline {

// When a run reached an accuracy that was asked for. Pure data; the functions
// below are thread-safe.
struct TargetTime {
  double accuracy = 0;
  std::optional<double> seconds;  // Nothing: it never did.
};

// One for each of `accuracies`. REQUIRES: `points` are sorted by seconds.
std::vector<TargetTime> TargetTimes(const std::vector<AccuracyPoint>& points,
                                    const std::vector<double>& accuracies);

// The evaluations of "accuracy" of a run's document, as far as they have time
// and accuracy.
std::vector<AccuracyPoint> AccuracyPointsOf(const Json& run);

// The accuracy of the last evaluation whose `measure`, "seconds" or "samples",
// is at most `most`; nothing before the first one.
std::optional<double> AccuracyUntil(const Json& run, absl::string_view measure,
                                    double most);

// Writes "targets": [{"accuracy", "seconds"}, ...] to a run's document, and the
// first of them as "target" and "seconds_to_target". Without any it does
// nothing.
void SetTargets(const std::vector<TargetTime>& times, Json& run);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_TARGET_TIMES_H_
