#ifndef PACELINE_SERVICES_CLI_PLOT_RUN_FIELDS_H_
#define PACELINE_SERVICES_CLI_PLOT_RUN_FIELDS_H_

#include "services/cli/json_fields.h"
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

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_PLOT_RUN_FIELDS_H_
