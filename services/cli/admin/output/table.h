#ifndef PACELINE_SERVICES_CLI_ADMIN_OUTPUT_TABLE_H_
#define PACELINE_SERVICES_CLI_ADMIN_OUTPUT_TABLE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace paceline {

// Columns under names in upper case.  REQUIRES: every row has as many cells as
// there are headers.
struct Table {
  std::vector<std::string> headers;
  std::vector<std::vector<std::string>> rows;
};

// Lines with all columns to the left, three blanks apart, as kubectl has them;
// nothing at the end of a line. An empty cell is shown as "<none>", and what
// others wrote cannot break a line or move the cursor. Without rows: empty,
// headers included.
std::string RenderTable(const Table& table, bool headers);

// Less than `right` in the order of people: "w2" before "w10".
bool NaturalLess(absl::string_view left, absl::string_view right);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_OUTPUT_TABLE_H_
