#ifndef PACELINE_SERVICES_CLI_COMPARE_RATE_GRID_H_
#define PACELINE_SERVICES_CLI_COMPARE_RATE_GRID_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/job/optimizer_spec.h"

namespace paceline {

// A rate and a momentum that each rule of a comparison is tried with. Pure
// data; the functions below are thread-safe.
struct GridPoint {
  double learning_rate = 0;
  // As `momentum=` has it in an optimizer, "0.9" or "auto"; empty: the
  // optimizer has none.
  std::string momentum;
  OptimizerSpec optimizer;  // With this momentum.
};

// Every one of `rates` with every one of `momenta`, by rates; without momenta,
// with that of `optimizer` alone.
// INVALID_ARGUMENT, naming --rates or --momenta: one is out of its range or
// there twice, or the optimizer has no momentum.
// REQUIRES: there is a rate, and `optimizer` is valid.
absl::StatusOr<std::vector<GridPoint>> PlanGrid(
    const std::vector<double>& rates, const std::vector<std::string>& momenta,
    const OptimizerSpec& optimizer);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_COMPARE_RATE_GRID_H_
