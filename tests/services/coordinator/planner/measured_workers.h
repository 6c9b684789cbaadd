#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_PLANNER_MEASURED_WORKERS_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_PLANNER_MEASURED_WORKERS_H_

#include <cstdint>
#include <vector>

#include "services/coordinator/run/pace_history.h"

namespace paceline {

// How the times of an iteration scatter around a worker's mean.
enum class Scatter : uint8_t {
  kNone,
  kExponential,
  kBursts,  // A quarter of them takes four times as long.
};

inline constexpr uint32_t kBatch = 32;

// One worker for each mean time of a full batch, in seconds, with 64 iterations
// that were not cut.
std::vector<MeasuredWorker> Measured(const std::vector<double>& seconds,
                                     Scatter scatter = Scatter::kNone);

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_PLANNER_MEASURED_WORKERS_H_
