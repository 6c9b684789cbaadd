#include "services/coordinator/run/recent_rate.h"

#include <algorithm>

namespace paceline {
namespace {

// Whole seconds before the one that goes on.
constexpr int64_t kSeconds = 30;

}  // namespace

void RecentRate::Begin(absl::Time now) {
  began_ = now;
  seconds_.clear();
}

int64_t RecentRate::NumberOf(absl::Time now) const {
  return absl::ToInt64Seconds(now - *began_);
}

void RecentRate::Add(absl::Time now, int64_t samples) {
  if (!began_.has_value()) return;
  const int64_t number = NumberOf(now);
  if (seconds_.empty() || seconds_.back().number != number) {
    seconds_.push_back({number, 0});
  }
  seconds_.back().samples += samples;
  while (seconds_.front().number < number - kSeconds) seconds_.pop_front();
}

double RecentRate::At(absl::Time now) const {
  if (!began_.has_value() || now <= *began_) return 0;
  const int64_t first = std::max<int64_t>(0, NumberOf(now) - kSeconds);
  int64_t samples = 0;
  for (const Second& second : seconds_) {
    if (second.number >= first) samples += second.samples;
  }
  // Less than a second says little.
  return static_cast<double>(samples) /
         std::max(1.0,
                  absl::ToDoubleSeconds(now - *began_ - absl::Seconds(first)));
}

}  // namespace paceline
