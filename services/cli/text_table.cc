#include "services/cli/text_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace paceline {

std::string AlignColumns(const std::vector<std::vector<std::string>>& rows,
                         const std::string& indent) {
  if (rows.empty()) return "";
  std::vector<size_t> widths(rows[0].size(), 0);
  for (const std::vector<std::string>& row : rows) {
    CHECK(row.size() == widths.size());
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    text += indent;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      if (i == 0) {
        absl::StrAppend(&text, row[i], row.size() > 1 ? padding : "");
      } else {
        absl::StrAppend(&text, "  ", padding, row[i]);
      }
    }
    text += '\n';
  }
  return text;
}

}  // namespace paceline
