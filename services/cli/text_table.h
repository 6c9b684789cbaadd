#ifndef PACELINE_SERVICES_CLI_TEXT_TABLE_H_
#define PACELINE_SERVICES_CLI_TEXT_TABLE_H_

#include <string>
#include <vector>

namespace paceline {

// Rows of cells as lines with aligned columns, two blanks between them: the
// first column to the left, the others to the right. Each line begins with
// `indent`.  REQUIRES: all rows have as many cells as the first.
std::string AlignColumns(const std::vector<std::vector<std::string>>& rows,
                         const std::string& indent);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_TEXT_TABLE_H_
