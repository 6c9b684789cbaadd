#ifndef PACELINE_SERVICES_WORKER_PACE_KEY_VALUES_H_
#define PACELINE_SERVICES_WORKER_PACE_KEY_VALUES_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace paceline {

// A duration from 0 to 1 hour, such as "20ms". INVALID_ARGUMENT names `what`.
absl::StatusOr<absl::Duration> ParsePaceDuration(absl::string_view what,
                                                 absl::string_view text);

// The durations of "key=5ms,other=2s". INVALID_ARGUMENT, naming `what`, for a
// key that is not among `keys`, comes twice, or for anything malformed.
absl::StatusOr<std::map<std::string, absl::Duration>> ParseKeyDurations(
    absl::string_view what, absl::string_view text,
    absl::Span<const absl::string_view> keys);

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_PACE_KEY_VALUES_H_
