#ifndef PACELINE_SERVICES_CLI_RESULTS_TABLE_H_
#define PACELINE_SERVICES_CLI_RESULTS_TABLE_H_

#include <optional>
#include <string>
#include <vector>

#include "services/cli/compared_runs.h"
#include "services/cli/json_fields.h"

namespace paceline {

// Rows of cells as lines with aligned columns, two blanks between them: the
// first column to the left, the others to the right. Each line begins with
// `indent`.  REQUIRES: all rows have as many cells as the first.
std::string AlignColumns(const std::vector<std::vector<std::string>>& rows,
                         const std::string& indent);

// What a person wants to see of finished runs. First one line per paradigm,
// with how much sooner than the first one it reached the target (without a
// target: ended), then what that says in words, then one line per worker. "-"
// stands for what is not known. Of several runs of a paradigm there are
// medians, with the least and the most, and no lines of workers.
std::string ResultsTable(const std::vector<ComparedRuns>& results);

// What the seconds to the target say, in words below a blank line; empty unless
// a run has reached it and there are others to compare it with.
std::string TargetConclusion(const std::vector<ComparedRuns>& results);

// What each worker of one run has done, a line each, below a blank line and the
// label; empty if none has. Without the time of loading where nobody loads.
std::string WorkersTable(const std::string& label, const Json& run);

// The loss of a run's last evaluation; nothing if there is none.
std::optional<double> FinalLoss(const Json& run);

// "1/4/5" of a member of `object` with quantiles: median, 99th percentile and
// maximum; "-" if it is not there.
std::string Distribution(const Json& object, absl::string_view name);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_RESULTS_TABLE_H_
