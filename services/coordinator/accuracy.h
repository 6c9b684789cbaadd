#ifndef PACELINE_SERVICES_COORDINATOR_ACCURACY_H_
#define PACELINE_SERVICES_COORDINATOR_ACCURACY_H_

#include <cstdint>
#include <optional>
#include <vector>

namespace paceline {

// One snapshot's evaluation, stamped with the moment at which it was taken.
struct AccuracyPoint {
  double seconds = 0;
  int64_t version = 0;
  int64_t version_at_completion = 0;  // When the last server had taken it.
  int64_t samples = 0;
  double accuracy = 0;
  double loss = 0;
};

// Seconds at which the accuracy reached `target`: linear interpolation to the
// first of two consecutive points at or above it (the last point alone counts
// too, having none after it). Nothing if it never did.
// REQUIRES: `points` are sorted by seconds.
std::optional<double> SecondsToTarget(const std::vector<AccuracyPoint>& points,
                                      double target);

// Whether two consecutive points are at or above `target`.
bool TargetReached(const std::vector<AccuracyPoint>& points, double target);
// Whether the losses of two are at or below it.
bool LossReached(const std::vector<AccuracyPoint>& points, double target);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_ACCURACY_H_
