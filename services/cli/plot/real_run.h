#ifndef PACELINE_SERVICES_CLI_PLOT_REAL_RUN_H_
#define PACELINE_SERVICES_CLI_PLOT_REAL_RUN_H_

#include <cstddef>
#include <string>
#include <vector>

#include "protos/paceline/v1/jobs.pb.h"
#include "services/cli/json_fields.h"

namespace paceline {

// Real runs as PlotPage() draws them. Pure.

// Iterations that one run's lanes show: the last ones. They are about as many
// spans as those of a simulated run.
inline constexpr size_t kIterationsDrawn = 5'000;

// The field "timeline" of a run: TimelineJson() (plot_page.h) with "begin" and
// "lost", which is who was lost when by the job's decisions, [{"worker",
// "seconds"}, ...]. An iteration is waiting, the time that servers parked its
// pull included, pulling, computing and loading, and pushing, and it ended when
// it was reported. What is between two of a worker is absence. `listed` has all
// that the coordinator keeps. Null if there are no iterations. `report` is the
// run's v1::JobReport.json, parsed: its "workers" are the rows.
Json RealTimeline(const Json& report, const v1::ListIterationsResponse& listed,
                  const v1::ListDecisionsResponse& decided);

// A run as PlotPage() takes it: `report`, called `name`, with what a simulation
// has and a report has not: "samples_per_second", "waiting_share", and of "gap"
// and "staleness" the largest ones. `timeline` is RealTimeline().
Json DrawnRealRun(Json report, const std::string& name, Json timeline);

// What is not known of these runs, for "left_out" of PlotPage().
std::string LeftOutOf(const std::vector<Json>& runs);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_PLOT_REAL_RUN_H_
