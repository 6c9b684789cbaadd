#include "services/cli/admin/output/field_lines.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/cli/admin/output/short_age.h"
#include "services/cli/one_line.h"

namespace paceline {
namespace {

constexpr size_t kValueColumn = 16;

}  // namespace

void FieldLines::Add(absl::string_view field, absl::string_view value) {
  if (value.empty()) return;
  const std::string head =
      absl::StrCat(std::string(indent_, ' '), field, field.empty() ? "" : ":");
  // At least one blank, however long the field's name is.
  const size_t padding =
      head.size() < kValueColumn ? kValueColumn - head.size() : 1;
  absl::StrAppend(&text_, head, std::string(padding, ' '), OneLine(value),
                  "\n");
}

void FieldLines::AddMap(
    absl::string_view field,
    const google::protobuf::Map<std::string, std::string>& map) {
  const std::map<std::string, std::string> sorted(map.begin(), map.end());
  for (const auto& [key, value] : sorted) {
    Add(field, absl::StrCat(key, "=", value));
    field = "";
  }
}

void FieldLines::AddTime(absl::string_view field,
                         const google::protobuf::Timestamp& time,
                         absl::Time now) {
  const std::string text = TimeText(time);
  if (text.empty()) return;
  Add(field, absl::StrCat(text, " (", ShortAge(time, now), " ago)"));
}

void FieldLines::Begin(absl::string_view heading) {
  absl::StrAppend(&text_, heading, ":\n");
  indent_ = 2;
}

void FieldLines::Block(absl::string_view heading, absl::string_view lines) {
  std::string indented;
  for (absl::string_view line :
       absl::StrSplit(lines, '\n', absl::SkipEmpty())) {
    absl::StrAppend(&indented, "  ", line, "\n");
  }
  Rows(heading, indented);
}

void FieldLines::Rows(absl::string_view heading, absl::string_view lines) {
  if (!lines.empty()) absl::StrAppend(&text_, heading, ":\n", lines);
}

}  // namespace paceline
