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

// Fields of a run that only pictures need; of real runs real_run.h makes them.

// [[value, count], ...], by value: "gap_histogram", "staleness_histogram".
Json HistogramJson(const IntHistogram& histogram);

// "timeline": {"seconds", "full", "phases", "workers"}. Of each worker, in the
// order of the run's "workers", its spans in a flat list: index into "phases",
// nanoseconds, index, nanoseconds, ... "seconds" is where recording ended,
// "full" says that this was before the run did. Real runs (real_run.h) have
// more: what was before "begin" is not known, and the spans there are absence;
// "lost" is who was lost.
Json TimelineJson(const Timeline& timeline);

// The names of "phases", in the order of WorkerPhase.
Json PhaseNames();

// FAILED_PRECONDITION: this was built without what draws the page.
absl::Status MissingECharts();

// What stands above the page's charts.
struct PageTitle {
  std::string heading;  // "paceline simulate".
  std::string command;  // What was typed.
};

// One HTML page that needs nothing else, no network either: what the runs of
// `document` did, side by side.
//
// `document` is {"runs": [...], "left_out"}. Each run is as SimulationRun()
// (simulation_report.h) or DrawnRealRun() (real_run.h) makes it, with these
// fields beside; what is absent, null or empty is left out of the page:
//   "name"                 else it is called after its "paradigm"
//   "accuracy"             [{"seconds", "samples", "accuracy", "loss",
//                            "metrics", "range"}, ...], where "range" is
//                            {"accuracy": [least, most]} of several runs
//   "targets"              [{"accuracy", "seconds"}, ...]; else "target", as
//                          "loss<=0.1", with "seconds_to_target"
//   "timeline"             TimelineJson(), or that of DrawnRealRun()
//   "gap_histogram", "staleness_histogram"      HistogramJson()
// "left_out" says in a sentence what is not known of the runs; or empty.
//
// `echarts` is the script of Apache ECharts. FAILED_PRECONDITION when it is
// empty: this was built without it.
absl::StatusOr<std::string> PlotPage(const Json& document,
                                     const PageTitle& title,
                                     EmbeddedText echarts = EChartsScript());

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_PLOT_PLOT_PAGE_H_
