#ifndef PACELINE_SERVICES_COORDINATOR_WATCH_RESUME_TOKEN_H_
#define PACELINE_SERVICES_COORDINATOR_WATCH_RESUME_TOKEN_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paceline {

// Where a watcher stands in one life of one event log.
struct WatchPlace {
  std::string instance;   // Of the log; not empty.
  uint64_t sequence = 0;  // Of the last event that was seen.

  friend bool operator==(const WatchPlace&, const WatchPlace&) = default;
};

// Opaque to clients: printable, without anything that a shell or a URL minds.
std::string FormatResumeToken(const WatchPlace& point);

// INVALID_ARGUMENT if FormatResumeToken() never gave it.
absl::StatusOr<WatchPlace> ParseResumeToken(absl::string_view token);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_WATCH_RESUME_TOKEN_H_
