#ifndef PACELINE_SERVICES_CLI_PLOT_PLOT_PAGE_H_
#define PACELINE_SERVICES_CLI_PLOT_PLOT_PAGE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/cli/json_fields.h"
#include "services/cli/plot/embedded_text.h"
#include "services/coordinator/int_histogram.h"
#include "services/simulator/timeline.h"

namespace paceline {

// Fields of a run that only pictures need.

// [[value, count], ...], by value: "gap_histogram", "staleness_histogram".
Json HistogramJson(const IntHistogram& histogram);

// "timeline": {"seconds", "full", "phases", "workers"}. Of each worker, in the
// order of the run's "workers", its spans in a flat list: index into "phases",
// nanoseconds, index, nanoseconds, ... "seconds" is where recording ended,
// "full" says that this was before the run did.
Json TimelineJson(const Timeline& timeline);

// FAILED_PRECONDITION: this was built without what draws the page.
absl::Status MissingECharts();

// One HTML page that needs nothing else, no network either: what the runs of
// `document` did, side by side. `command` is what was typed, for its title.
//
// `document` is {"runs": [...]}, each run as SimulationRun()
// (simulation_report.h) makes it, with these fields beside; what is absent,
// null or empty is left out of the page:
//   "accuracy"             [{"seconds", "accuracy", "samples"}, ...]
//   "targets"              [{"accuracy", "seconds"}, ...]
//   "timeline"             TimelineJson()
//   "gap_histogram", "staleness_histogram"      HistogramJson()
//
// `echarts` is the script of Apache ECharts. FAILED_PRECONDITION when it is
// empty: this was built without it.
absl::StatusOr<std::string> PlotPage(const Json& document,
                                     absl::string_view command,
                                     EmbeddedText echarts = EChartsScript());

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_PLOT_PLOT_PAGE_H_
