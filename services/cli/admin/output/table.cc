#include "services/cli/admin/output/table.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/check.h"
#include "common/field_checks.h"
#include "services/cli/one_line.h"

namespace paceline {
namespace {

bool IsSet(const google::protobuf::Timestamp& time) {
  return time.seconds() != 0 || time.nanos() != 0;
}

// "3h20m", "3h".
std::string TwoUnits(int64_t count, int64_t per_large, const char* large,
                     const char* small) {
  const int64_t rest = count % per_large;
  return absl::StrCat(count / per_large, large,
                      rest == 0 ? "" : absl::StrCat(rest, small));
}

// The run of digits at the front, without leading zeros.
absl::string_view Digits(absl::string_view text) {
  size_t end = 0;
  while (end < text.size() &&
         absl::ascii_isdigit(static_cast<unsigned char>(text[end]))) {
    ++end;
  }
  return text.substr(0, end);
}

absl::string_view WithoutZeros(absl::string_view digits) {
  while (digits.size() > 1 && digits[0] == '0') digits.remove_prefix(1);
  return digits;
}

std::string CsvCell(const std::string& cell) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  return absl::StrCat("\"", absl::StrReplaceAll(cell, {{"\"", "\"\""}}), "\"");
}

constexpr size_t kValueColumn = 16;

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

absl::Time ToTime(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) +
         absl::Nanoseconds(time.nanos());
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

std::string RenderTable(const Table& table, bool headers) {
  if (table.rows.empty()) return "";
  std::vector<std::vector<std::string>> lines;
  if (headers) lines.push_back(table.headers);
  for (const std::vector<std::string>& row : table.rows) {
    CHECK(row.size() == table.headers.size());
    std::vector<std::string>& line = lines.emplace_back();
    for (const std::string& cell : row) {
      line.push_back(cell.empty() ? "<none>" : OneLine(cell));
    }
  }
  std::vector<size_t> widths(table.headers.size(), 0);
  for (const std::vector<std::string>& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], Characters(line[i]));
    }
  }
  std::string text;
  for (const std::vector<std::string>& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      const size_t padding =
          i + 1 < line.size() ? widths[i] - Characters(line[i]) + 3 : 0;
      absl::StrAppend(&text, line[i], std::string(padding, ' '));
    }
    text += '\n';
  }
  return text;
}

std::string CsvText(const Table& table, bool headers) {
  std::string text;
  const auto append = [&](const std::vector<std::string>& row) {
    absl::StrAppend(
        &text,
        absl::StrJoin(row, ",",
                      [](std::string* out, const std::string& cell) {
                        absl::StrAppend(out, CsvCell(cell));
                      }),
        "\n");
  };
  if (headers) append(table.headers);
  for (const std::vector<std::string>& row : table.rows) append(row);
  return text;
}

Table FitTable(Table table, size_t width,
               const std::vector<absl::string_view>& dispensable) {
  const auto fits = [&] {
    const std::string text = RenderTable(table, /*headers=*/true);
    const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
    return std::ranges::all_of(lines, [&](absl::string_view line) {
      return Characters(line) <= width;
    });
  };
  for (const absl::string_view header : dispensable) {
    if (fits()) break;
    const auto column = std::ranges::find(table.headers, header);
    if (column == table.headers.end()) continue;
    const auto index = column - table.headers.begin();
    table.headers.erase(column);
    for (std::vector<std::string>& row : table.rows) {
      row.erase(row.begin() + index);
    }
  }
  return table;
}

bool NaturalLess(absl::string_view left, absl::string_view right) {
  while (!left.empty() && !right.empty()) {
    const absl::string_view left_digits = Digits(left);
    const absl::string_view right_digits = Digits(right);
    if (left_digits.empty() || right_digits.empty()) {
      if (left[0] != right[0]) return left[0] < right[0];
      left.remove_prefix(1);
      right.remove_prefix(1);
      continue;
    }
    const absl::string_view a = WithoutZeros(left_digits);
    const absl::string_view b = WithoutZeros(right_digits);
    if (a != b) return a.size() != b.size() ? a.size() < b.size() : a < b;
    left.remove_prefix(left_digits.size());
    right.remove_prefix(right_digits.size());
  }
  return left.size() < right.size();
}

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
