#include "services/coordinator/watch/event_log.h"

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace paceline {

std::string FormatResumeToken(const WatchPlace& point) {
  return absl::WebSafeBase64Escape(
      absl::StrCat(point.instance, ":", point.sequence));
}

absl::StatusOr<WatchPlace> ParseResumeToken(absl::string_view token) {
  WatchPlace point;
  std::string text;
  if (absl::WebSafeBase64Unescape(token, &text)) {
    const size_t colon = text.rfind(':');
    if (colon != std::string::npos && colon > 0) {
      point.instance = text.substr(0, colon);
      // Reading is more lenient than writing: blanks, signs, leading zeros.
      if (absl::SimpleAtoi(text.substr(colon + 1), &point.sequence) &&
          FormatResumeToken(point) == token) {
        return point;
      }
    }
  }
  return absl::InvalidArgumentError(
      "is none that a watch has given; leave it out to begin with the job as "
      "it is");
}

}  // namespace paceline
