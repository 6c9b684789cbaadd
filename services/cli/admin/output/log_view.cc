#include "services/cli/admin/output/log_view.h"

#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "services/cli/admin/output/table.h"
#include "services/cli/one_line.h"

namespace paceline {
namespace {

std::string TimeOf(const v1::LogLine& line) {
  if (!line.has_time()) return "-";
  return absl::FormatTime("%Y-%m-%d%ET%H:%M:%E3SZ", ToTime(line.time()),
                          absl::UTCTimeZone());
}

std::string Kind(const v1::LogLine& line) {
  if (line.source() == v1::LogLine::PROGRAM) return "program";
  if (line.severity() == v1::LogLine::SEVERITY_UNSPECIFIED) return "-";
  return StateText(line.severity());
}

std::string Field(const std::string& key, const std::string& value) {
  const bool plain = !value.empty() && !absl::StrContains(value, ' ');
  return absl::StrCat("  ", OneLine(key), "=", plain ? "" : "\"",
                      OneLine(value), plain ? "" : "\"");
}

}  // namespace

std::string LogText(
    const google::protobuf::RepeatedPtrField<v1::LogLine>& lines) {
  std::string text;
  for (const v1::LogLine& line : lines) {
    absl::StrAppendFormat(&text, "%s %-7s  %s", TimeOf(line), Kind(line),
                          OneLine(line.message()));
    for (const auto& [key, value] :
         std::map(line.fields().begin(), line.fields().end())) {
      absl::StrAppend(&text, Field(key, value));
    }
    absl::StrAppend(&text, line.cut() ? "  [cut]\n" : "\n");
  }
  return text;
}

}  // namespace paceline
