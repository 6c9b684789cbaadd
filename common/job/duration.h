#ifndef PACELINE_COMMON_JOB_DURATION_H_
#define PACELINE_COMMON_JOB_DURATION_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace paceline {

// Reads a duration as people write it wherever they give one, in flags, in
// specs and in files: "20ms", "1m30s", or a plain number, which counts seconds.
// INVALID_ARGUMENT, naming `what`, if it is none from `least` to `most`.
absl::StatusOr<absl::Duration> ParseDuration(
    absl::string_view what, absl::string_view text,
    absl::Duration least = absl::ZeroDuration(),
    absl::Duration most = absl::Hours(24));

}  // namespace paceline

#endif  // PACELINE_COMMON_JOB_DURATION_H_
