#include "common/duration_flag.h"

#include "absl/strings/str_cat.h"

namespace paceline {

absl::StatusOr<absl::Duration> ParseDurationFlag(absl::string_view flag,
                                                 const std::string& text,
                                                 absl::Duration least) {
  absl::Duration duration;
  if (!absl::ParseDuration(text, &duration) || duration < least ||
      duration > absl::Hours(24)) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, " \"", text, "\": must be a duration such as 10s, ",
                     absl::FormatDuration(least), " to 24h"));
  }
  return duration;
}

}  // namespace paceline
