#include "common/job/duration.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace paceline {

absl::StatusOr<absl::Duration> ParseDuration(absl::string_view what,
                                             absl::string_view text,
                                             absl::Duration least,
                                             absl::Duration most) {
  double seconds = 0;
  absl::Duration duration;
  if (absl::SimpleAtod(text, &seconds) && std::isfinite(seconds)) {
    // To the nearest nanosecond: 1.9 is meant to be exact.
    const double nanos = std::clamp(seconds * 1e9, -9e18, 9e18);
    duration = absl::Nanoseconds(std::llround(nanos));
  } else if (!absl::ParseDuration(text, &duration)) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " \"", text, "\": no duration; write for example ",
                     "20ms, 600s or, in seconds, 2.5"));
  }
  if (duration >= least && duration <= most) return duration;
  return absl::InvalidArgumentError(absl::StrCat(
      what, " ", text, ": must be from ", absl::FormatDuration(least), " to ",
      absl::FormatDuration(most)));
}

}  // namespace paceline
