#ifndef PACELINE_SERVICES_SIMULATOR_JITTER_H_
#define PACELINE_SERVICES_SIMULATOR_JITTER_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/simulator/nanos.h"

namespace paceline {

// The device is slower by `factor` for `length` in every `every`.
struct Bursts {
  Nanos every = 0;
  Nanos length = 0;   // Above 0, below `every`.
  double factor = 1;  // At least 1.
  // The first one begins then; none: at random within the first `every`.
  std::optional<Nanos> first = std::nullopt;
};

// How the iteration times of one virtual worker scatter around their mean.
struct Jitter {
  enum class Kind : uint8_t { kNone, kNormal, kLognormal, kExponential };

  Kind kind = Kind::kNone;
  // kNormal: standard deviation over mean. kLognormal: of the logarithm.
  double spread = 0;
  std::optional<Bursts> bursts = std::nullopt;
};

// Reads one of
//   none
//   normal:sd=0.1                         relative to the mean; 0 to 1
//   lognormal:sigma=0.3                   of the logarithm; 0 to 3
//   exponential
//   bursts:every=60s,for=5s,factor=4      optionally first=10s
// or one of the first four and bursts, joined by '+'. INVALID_ARGUMENT says
// what is wrong and what would be right.
absl::StatusOr<Jitter> ParseJitter(absl::string_view text);

}  // namespace paceline

#endif  // PACELINE_SERVICES_SIMULATOR_JITTER_H_
