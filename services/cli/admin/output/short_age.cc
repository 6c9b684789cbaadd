#include "services/cli/admin/output/short_age.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace paceline {
namespace {

bool IsSet(const google::protobuf::Timestamp& time) {
  return time.seconds() != 0 || time.nanos() != 0;
}

absl::Time ToTime(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) +
         absl::Nanoseconds(time.nanos());
}

// "3h20m", "3h".
std::string TwoUnits(int64_t count, int64_t per_large, const char* large,
                     const char* small) {
  const int64_t rest = count % per_large;
  return absl::StrCat(count / per_large, large,
                      rest == 0 ? "" : absl::StrCat(rest, small));
}

}  // namespace

std::string ShortDuration(absl::Duration duration) {
  const int64_t seconds = std::max<int64_t>(0, absl::ToInt64Seconds(duration));
  const int64_t minutes = seconds / 60;
  const int64_t hours = minutes / 60;
  if (seconds < 120) return absl::StrCat(seconds, "s");
  if (hours < 1) return absl::StrCat(minutes, "m");
  if (hours < 24) return TwoUnits(minutes, 60, "h", "m");
  if (hours < 7 * 24) return TwoUnits(hours, 24, "d", "h");
  return absl::StrCat(hours / 24, "d");
}

std::string ShortAge(const google::protobuf::Timestamp& then, absl::Time now) {
  return IsSet(then) ? ShortDuration(now - ToTime(then)) : "";
}

std::string TimeText(const google::protobuf::Timestamp& time) {
  if (!IsSet(time)) return "";
  return absl::FormatTime("%Y-%m-%d%ET%H:%M:%SZ", ToTime(time),
                          absl::UTCTimeZone());
}

std::string BytesText(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB",
                                           "TiB", "PiB", "EiB"};
  if (bytes < 1024) return absl::StrCat(bytes, " B");
  double value = static_cast<double>(bytes) / 1024;
  const char* const* unit = kUnits;
  while (value >= 1023.95 && *unit != kUnits[5]) {
    value /= 1024;
    ++unit;
  }
  return absl::StrFormat("%.1f %s", value, *unit);
}

}  // namespace paceline
