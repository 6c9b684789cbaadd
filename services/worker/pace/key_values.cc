#include "services/worker/pace/key_values.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/status.h"

namespace paceline {

absl::StatusOr<absl::Duration> ParsePaceDuration(absl::string_view what,
                                                 absl::string_view text) {
  absl::Duration duration;
  if (!absl::ParseDuration(text, &duration)) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, ": \"", text, "\" is not a duration such as 20ms or 1.5s"));
  }
  if (duration < absl::ZeroDuration() || duration > absl::Hours(1)) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": ", text, " is not between 0 and 1h"));
  }
  return duration;
}

absl::StatusOr<std::map<std::string, absl::Duration>> ParseKeyDurations(
    absl::string_view what, absl::string_view text,
    absl::Span<const absl::string_view> keys) {
  std::map<std::string, absl::Duration> values;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    if (std::find(keys.begin(), keys.end(), pair.first) == keys.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, ": \"", part, "\" is not one of ",
                       absl::StrJoin(keys, "=..., "), "=..."));
    }
    PACELINE_ASSIGN_OR_RETURN(
        const absl::Duration value,
        ParsePaceDuration(absl::StrCat(what, " ", pair.first), pair.second));
    if (!values.emplace(pair.first, value).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, ": ", pair.first, " is given twice"));
    }
  }
  return values;
}

}  // namespace paceline
