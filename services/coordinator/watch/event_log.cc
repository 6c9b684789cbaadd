#include "services/coordinator/watch/event_log.h"

#include <cstddef>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace paceline {

std::string FormatResumeToken(const WatchPlace& place) {
  return absl::WebSafeBase64Escape(
      absl::StrCat(place.instance, ":", place.sequence, ":",
                   place.history.decisions, ":", place.history.points));
}

absl::StatusOr<WatchPlace> ParseResumeToken(absl::string_view token) {
  WatchPlace place;
  std::string text;
  if (absl::WebSafeBase64Unescape(token, &text)) {
    std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
    // The instance may have colons.
    if (parts.size() >= 4) {
      const size_t numbers = parts.size() - 3;
      place.instance =
          absl::StrJoin(parts.begin(), parts.begin() + numbers, ":");
      // Reading is more lenient than writing: blanks, signs, leading zeros.
      if (!place.instance.empty() &&
          absl::SimpleAtoi(parts[numbers], &place.sequence) &&
          absl::SimpleAtoi(parts[numbers + 1], &place.history.decisions) &&
          absl::SimpleAtoi(parts[numbers + 2], &place.history.points) &&
          place.history.decisions >= 0 && place.history.points >= 0 &&
          FormatResumeToken(place) == token) {
        return place;
      }
    }
  }
  return absl::InvalidArgumentError(
      "is none that a watch has given; leave it out to begin with the job as "
      "it is");
}

}  // namespace paceline
