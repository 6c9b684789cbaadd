#ifndef PACELINE_SERVICES_CLI_RESULTS_TABLE_H_
#define PACELINE_SERVICES_CLI_RESULTS_TABLE_H_

#include <string>
#include <vector>

#include "services/cli/json_fields.h"

namespace paceline {

// Rows of cells as lines with aligned columns, two blanks between them: the
// first column to the left, the others to the right. Each line begins with
// `indent`.  REQUIRES: all rows have as many cells as the first.
std::string AlignColumns(const std::vector<std::vector<std::string>>& rows,
                         const std::string& indent);

// What a person wants to see of finished runs, elements of "runs" of the
// document that `paceline local -o json` prints. First one line per run, with
// how much sooner than the first run it reached the target (without a target:
// ended), then what that says in words, then one line per worker. "-" stands
// for what is not known.
std::string ResultsTable(const std::vector<Json>& runs);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_RESULTS_TABLE_H_
