#ifndef PACELINE_SERVICES_COORDINATOR_PLANNER_RECENT_PACES_H_
#define PACELINE_SERVICES_COORDINATOR_PLANNER_RECENT_PACES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "services/coordinator/run/training_paces.h"

namespace paceline {

// What of the measured iterations says how the workers are now.

// Who is not measured well enough for a forecast, for people; empty: everybody
// is. Times that scatter have to be more.
std::string WhoIsUnmeasured(absl::Span<const MeasuredWorker> workers);

// Leaves out what is too old, of the same time for all, and of a worker that
// has become another one what was before. `now` in seconds of training.
// REQUIRES: all are measured.
void KeepRecent(const PlayedJob& job, double now,
                std::vector<MeasuredWorker>& workers);

// Seconds for a sample of late.  REQUIRES: it has iterations.
double LatestPace(const MeasuredWorker& worker);

// Samples a second that were trained on since then, as far back as all are
// known; nothing if that is not long enough.
std::optional<double> MeasuredSpeed(absl::Span<const MeasuredWorker> workers,
                                    double since);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_PLANNER_RECENT_PACES_H_
