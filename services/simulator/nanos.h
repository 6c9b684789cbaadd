#ifndef PACELINE_SERVICES_SIMULATOR_NANOS_H_
#define PACELINE_SERVICES_SIMULATOR_NANOS_H_

#include <cstdint>
#include <limits>

#include "absl/time/time.h"

namespace paceline {

// Virtual time: whole nanoseconds since the beginning of a run, or a distance
// of two such moments. Whole numbers, so that sums are exact and what is one
// instant is no matter of rounding.
using Nanos = int64_t;

inline constexpr Nanos kNever = std::numeric_limits<Nanos>::max();

// As the core counts: the run begins at the Unix epoch.
inline absl::Time ToTime(Nanos at) { return absl::FromUnixNanos(at); }

// The first whole nanosecond that is not before `at`; kNever for no end.
inline Nanos ToNanos(absl::Time at) {
  if (at == absl::InfiniteFuture()) return kNever;
  const Nanos floor = absl::ToUnixNanos(at);
  return ToTime(floor) < at ? floor + 1 : floor;
}

inline double ToSeconds(Nanos span) { return static_cast<double>(span) / 1e9; }

}  // namespace paceline

#endif  // PACELINE_SERVICES_SIMULATOR_NANOS_H_
