#include "services/worker/pace/distribution.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "common/job/duration.h"
#include "common/job/spec_reader.h"
#include "common/status.h"

namespace paceline {
namespace {

constexpr uint64_t kOne = uint64_t{1} << 32;  // 1.0 in 32-bit fixed point.

// One kind of distribution as a person writes it.
struct Kind {
  absl::string_view name;
  DelayKind kind;
  std::vector<absl::string_view> keys;  // All needed; of mean, then of sd.
};

const std::vector<Kind>& Kinds() {
  static const auto* const kinds = new std::vector<Kind>{
      {"uniform", DelayKind::kUniform, {"min", "max"}},
      {"normal", DelayKind::kNormal, {"mean", "sd"}},
      {"exponential", DelayKind::kExponential, {"mean"}},
      {"lognormal", DelayKind::kLognormal, {"mean", "sd"}},
  };
  return *kinds;
}

absl::StatusOr<DelaySpec> ReadKind(const Kind& kind, absl::string_view text) {
  PACELINE_ASSIGN_OR_RETURN(const SpecParameters parameters,
                            SpecParameters::Parse(text, kind.keys));
  DelaySpec spec{.kind = kind.kind};
  PACELINE_ASSIGN_OR_RETURN(spec.mean,
                            parameters.Duration(kind.keys.front(), kPaceMax));
  if (kind.keys.size() > 1) {
    PACELINE_ASSIGN_OR_RETURN(spec.sd,
                              parameters.Duration(kind.keys.back(), kPaceMax));
  }
  if (spec.kind == DelayKind::kUniform && spec.sd < spec.mean) {
    return absl::InvalidArgumentError("max is smaller than min");
  }
  if (spec.kind == DelayKind::kLognormal && spec.mean == absl::ZeroDuration()) {
    return absl::InvalidArgumentError("mean must be above 0");
  }
  return spec;
}

uint64_t Fraction(Rng& rng) { return rng.Next() >> 32; }

// duration * factor, the factor in 32-bit fixed point.
absl::Duration Times(absl::Duration duration, absl::int128 factor) {
  const absl::int128 product =
      absl::int128(absl::ToInt64Nanoseconds(duration)) * factor;
  return absl::Nanoseconds(static_cast<int64_t>(product / kOne));
}

// A standard normal value in fixed point: the sum of twelve uniform values,
// which has variance 1 and ends at six deviations.
absl::int128 StandardNormal(Rng& rng) {
  absl::int128 sum = -6 * absl::int128(kOne);
  for (int i = 0; i < 12; ++i) sum += Fraction(rng);
  return sum;
}

// An exponential value of mean 1 in fixed point, from comparisons alone (von
// Neumann 1951; Devroye, Non-Uniform Random Variate Generation, IV.2): the
// first value of a descending run counts if the run's length is odd; each
// failure adds one.
absl::int128 StandardExponential(Rng& rng) {
  for (uint64_t whole = 0;; ++whole) {
    const uint64_t first = Fraction(rng);
    uint64_t last = first;
    bool odd = true;
    for (uint64_t next = Fraction(rng); next < last; next = Fraction(rng)) {
      last = next;
      odd = !odd;
    }
    if (odd) return absl::int128(whole) * kOne + first;
  }
}

// From the mean and deviation of the value those of its logarithm.
absl::Duration SampleLognormal(const DelaySpec& spec, Rng& rng) {
  const double mean = absl::ToDoubleSeconds(spec.mean);
  const double ratio = absl::ToDoubleSeconds(spec.sd) / mean;
  const double variance = std::log1p(ratio * ratio);
  const double normal =
      static_cast<double>(StandardNormal(rng)) / static_cast<double>(kOne);
  return absl::Seconds(mean *
                       std::exp(std::sqrt(variance) * normal - variance / 2));
}

}  // namespace

absl::StatusOr<DelaySpec> ParseDelay(absl::string_view text) {
  const absl::string_view name = SpecName(text);
  if (name == "constant" && name.size() < text.size()) {
    PACELINE_ASSIGN_OR_RETURN(
        const absl::Duration delay,
        ParseDuration("delay constant", text.substr(name.size() + 1),
                      absl::ZeroDuration(), kPaceMax));
    return DelaySpec{.mean = delay};
  }
  for (const Kind& kind : Kinds()) {
    if (kind.name != name) continue;
    return Annotate(ReadKind(kind, text), absl::StrCat("delay ", name));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "delay \"", text, "\": want constant:5ms, uniform:min=1ms,max=9ms, ",
      "normal:mean=5ms,sd=2ms, exponential:mean=10ms or ",
      "lognormal:mean=10ms,sd=5ms"));
}

absl::Duration SampleDelay(const DelaySpec& spec, Rng& rng) {
  switch (spec.kind) {
    case DelayKind::kConstant:
      return spec.mean;
    case DelayKind::kUniform:
      return spec.mean + Times(spec.sd - spec.mean, Fraction(rng));
    case DelayKind::kNormal:
      return std::max(absl::ZeroDuration(),
                      spec.mean + Times(spec.sd, StandardNormal(rng)));
    case DelayKind::kExponential:
      return Times(spec.mean, StandardExponential(rng));
    case DelayKind::kLognormal:
      return SampleLognormal(spec, rng);
  }
  return absl::ZeroDuration();
}

}  // namespace paceline
