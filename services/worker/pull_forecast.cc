#include "services/worker/pull_forecast.h"

#include <algorithm>

namespace paceline {
namespace {

// A wrong forecast may cost a transfer of all weights. Each doubles what is
// needed to believe the next one, up to this.
constexpr int kMostNeeded = 64;

}  // namespace

std::optional<int64_t> PullForecast::Next() const {
  if (regular_ < needed_) return std::nullopt;
  return *closing_ + 1;
}

bool PullForecast::Take(int64_t closing, int64_t base_version) {
  const bool foretold = Next().has_value();
  const bool regular = closing_.has_value() && closing == *closing_ + 1 &&
                       base_version == base_version_ + 1;
  if (regular) {
    regular_ = std::min(regular_ + 1, kMostNeeded);
  } else {
    if (foretold) needed_ = std::min(2 * needed_, kMostNeeded);
    regular_ = 0;
  }
  closing_ = closing;
  base_version_ = base_version;
  return regular && foretold;
}

}  // namespace paceline
