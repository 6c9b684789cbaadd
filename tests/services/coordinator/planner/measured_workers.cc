#include "tests/services/coordinator/planner/measured_workers.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/rng.h"

namespace paceline {
namespace {

double Factor(Scatter scatter, size_t iteration, Rng& rng) {
  switch (scatter) {
    case Scatter::kNone:
      return 1;
    case Scatter::kExponential:
      return std::max(0.01, -std::log(1 - rng.Unit()));
    case Scatter::kBursts:
      return iteration / 4 % 4 == 0 ? 4 : 1;
  }
  return 1;
}

}  // namespace

std::vector<MeasuredWorker> Measured(const std::vector<double>& seconds,
                                     Scatter scatter) {
  std::vector<MeasuredWorker> workers;
  for (size_t i = 0; i < seconds.size(); ++i) {
    Rng rng(i + 1);
    MeasuredWorker worker{.name = absl::StrCat("w", i),
                          .wishes = {.extends = true}};
    for (size_t k = 0; k < PaceHistory::kKept; ++k) {
      // Bursts of different workers are not at the same time.
      const double factor = Factor(scatter, k + 4 * i, rng);
      worker.iterations.push_back(
          {.compute = absl::Seconds(seconds[i] * factor), .samples = kBatch});
    }
    workers.push_back(std::move(worker));
  }
  return workers;
}

}  // namespace paceline
