#include "services/cli/admin/output/table.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "services/cli/one_line.h"

namespace paceline {
namespace {

// As many columns as a terminal shows; a UTF-8 character counts once.
size_t Width(absl::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
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

}  // namespace

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
      widths[i] = std::max(widths[i], Width(line[i]));
    }
  }
  std::string text;
  for (const std::vector<std::string>& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      const size_t padding =
          i + 1 < line.size() ? widths[i] - Width(line[i]) + 3 : 0;
      absl::StrAppend(&text, line[i], std::string(padding, ' '));
    }
    text += '\n';
  }
  return text;
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

}  // namespace paceline
