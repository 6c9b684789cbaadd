#ifndef PACELINE_SERVICES_WORKER_PACE_DISTRIBUTION_H_
#define PACELINE_SERVICES_WORKER_PACE_DISTRIBUTION_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/rng.h"

namespace paceline {

// The longest duration of anything that is imitated.
inline constexpr absl::Duration kPaceMax = absl::Hours(1);

enum class DelayKind { kConstant, kUniform, kNormal, kExponential, kLognormal };

// A distribution of delays. `mean` and `sd` are those of the delay itself, for
// kUniform the two ends. A normal delay below zero counts as zero.
struct DelaySpec {
  DelayKind kind = DelayKind::kConstant;
  absl::Duration mean = absl::ZeroDuration();
  absl::Duration sd = absl::ZeroDuration();
};

// Reads "constant:5ms", "uniform:min=1ms,max=9ms", "normal:mean=5ms,sd=2ms",
// "exponential:mean=10ms" or "lognormal:mean=10ms,sd=5ms". INVALID_ARGUMENT
// says what is wrong and what would be right.
absl::StatusOr<DelaySpec> ParseDelay(absl::string_view text);

// A value of the distribution, never negative. The same generator state gives
// the same value; all kinds but kLognormal compute with integers alone.
absl::Duration SampleDelay(const DelaySpec& spec, Rng& rng);

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_PACE_DISTRIBUTION_H_
