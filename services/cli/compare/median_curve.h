#ifndef PACELINE_SERVICES_CLI_COMPARE_MEDIAN_CURVE_H_
#define PACELINE_SERVICES_CLI_COMPARE_MEDIAN_CURVE_H_

#include "services/cli/compared_runs.h"
#include "services/cli/json_fields.h"

namespace paceline {

// The evaluations of several runs of a rule as those of one, for the page: a
// list as "accuracy" has it. Runs evaluate after so many samples. So each
// point is of one evaluation of all runs, with the medians of seconds, samples,
// accuracy and loss, and with "range": {"accuracy": [least, most], "loss": ...}
// where there are two runs or more. The curve ends where the first run does.
// Pure; thread-safe.
Json MedianCurve(const ComparedRuns& compared);

// `drawn`, one of these runs as PlotPage() takes it, with what is known of all
// of them in its place: the curve, the accuracy at the end, and the seconds and
// seconds to the target.
Json DrawnRule(Json drawn, const ComparedRuns& compared);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_COMPARE_MEDIAN_CURVE_H_
