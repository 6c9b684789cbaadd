#include "services/coordinator/sync/core/rate_schedule.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "common/check.h"

namespace paceline {
namespace {

// A warm-up that began at nothing would waste the first pushes.
constexpr double kWarmupStart = 0.1;

int64_t Resolve(double share, int64_t samples_total) {
  return std::llround(share * static_cast<double>(samples_total));
}

}  // namespace

RateSchedule::RateSchedule(double base_rate, const RateSpec& spec,
                           int64_t samples_total, int64_t batch_size)
    : steps_({{0, base_rate}}),
      warmup_samples_(Resolve(spec.warmup, samples_total)),
      samples_per_update_(spec.counts_updates ? batch_size : 0) {
  CHECK(base_rate > 0 && std::isfinite(base_rate) && samples_total >= 0);
  CHECK(batch_size > 0);
  for (const double share : spec.at) {
    steps_.push_back(
        {Resolve(share, samples_total), steps_.back().rate * spec.factor});
  }
}

double RateSchedule::RateAt(int64_t samples, int64_t updates) const {
  CHECK(samples >= 0 && updates >= 0);
  if (samples_per_update_ > 0) samples = updates * samples_per_update_;
  const auto after = std::upper_bound(
      steps_.begin(), steps_.end(), samples,
      [](int64_t at, const Step& step) { return at < step.from; });
  const double rate = std::prev(after)->rate;
  if (samples >= warmup_samples_) return rate;
  const double progress =
      static_cast<double>(samples) / static_cast<double>(warmup_samples_);
  return rate * (kWarmupStart + (1 - kWarmupStart) * progress);
}

}  // namespace paceline
