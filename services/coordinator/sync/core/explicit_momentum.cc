#include "services/coordinator/sync/core/explicit_momentum.h"

#include <algorithm>

#include "common/check.h"

namespace paceline {
namespace {

// Of the mean; more before so many.
constexpr int64_t kPushes = 100;

}  // namespace

double ExplicitMomentum(double total, double staleness) {
  CHECK(total >= 0 && total < 1 && staleness >= 0);
  if (staleness == 0) return total;
  return std::max(0.0, 1 - (1 - total) * (1 + staleness));
}

void MeanStaleness::Add(int64_t staleness) {
  pushes_ = std::min(pushes_ + 1, kPushes);
  value_ +=
      (static_cast<double>(staleness) - value_) / static_cast<double>(pushes_);
}

}  // namespace paceline
