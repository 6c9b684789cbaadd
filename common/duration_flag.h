#ifndef PACELINE_COMMON_DURATION_FLAG_H_
#define PACELINE_COMMON_DURATION_FLAG_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace paceline {

// The value of a flag such as --grace: "20s", "1m30s". INVALID_ARGUMENT, with
// the flag's name, if it is none from `least` to a day.
absl::StatusOr<absl::Duration> ParseDurationFlag(
    absl::string_view flag, const std::string& text,
    absl::Duration least = absl::ZeroDuration());

}  // namespace paceline

#endif  // PACELINE_COMMON_DURATION_FLAG_H_
