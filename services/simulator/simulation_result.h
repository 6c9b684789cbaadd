#ifndef PACELINE_SERVICES_SIMULATOR_SIMULATION_RESULT_H_
#define PACELINE_SERVICES_SIMULATOR_SIMULATION_RESULT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/coordinator/accuracy.h"
#include "services/coordinator/int_histogram.h"
#include "services/coordinator/sync/core/sync_messages.h"
#include "services/simulator/nanos.h"

namespace paceline {

// What was measured of one worker, all its incarnations together. A worker
// measures as a real one does: `wait` is from its report to the next grant,
// `pull` includes what a server parks it for.
struct WorkerResult {
  std::string name;
  int64_t pushes = 0;
  int64_t samples = 0;
  int64_t samples_discarded = 0;  // Of these.
  Nanos compute = 0;
  Nanos push = 0;
  Nanos pull = 0;
  Nanos wait = 0;  // Also for the plan of a push.
  Nanos longest_wait = 0;
  Nanos alive = 0;   // From joining to leaving, or to the end.
  int64_t held = 0;  // Pushes after which it was not released at once.
  int64_t held_not_fastest = 0;  // Of these: because of that (DSSP).
  IntHistogram gap;
  IntHistogram staleness;
};

struct SwitchResult {
  Switched what;
  std::optional<absl::Duration> took;  // Until the last old plan was counted.
};

// One run under one paradigm.
struct SimulationResult {
  std::string paradigm;  // SyncPolicy::Describe() at the start.
  // Everything is counted, or the given time is over. If not, nobody was left
  // to go on, or a hundred years were over.
  bool complete = false;
  Nanos duration = 0;
  int64_t samples = 0;            // Counted.
  int64_t samples_discarded = 0;  // Of these: nothing was learned from them.
  int64_t pushes = 0;             // Counted, discarded ones included.
  int64_t updates = 0;            // The version.
  int64_t closings = 0;
  int64_t discarded = 0;  // Pushes by whose plan nothing was pushed.
  int64_t abandoned = 0;  // Iterations.
  int64_t refreshed = 0;  // Pushes of a part of the batch.
  int64_t lost = 0;       // Members that the coordinator gave up.
  int64_t push_bytes = 0;
  int64_t pull_bytes = 0;
  IntHistogram gap;  // Of all workers.
  IntHistogram staleness;
  std::vector<SwitchResult> switches;
  std::vector<WorkerResult> workers;

  // Of a run that trained (VirtualTraining); else as they are here.
  std::vector<AccuracyPoint> accuracy;
  std::string target;  // "accuracy>=0.9"; empty: the run has none.
  std::optional<double> seconds_to_target;
  int64_t refused_blocks = 0;

  // The time that living workers waited, over the time that they lived.
  double WaitingShare() const {
    Nanos wait = 0;
    Nanos alive = 0;
    for (const WorkerResult& worker : workers) {
      wait += worker.wait;
      alive += worker.alive;
    }
    return alive > 0 ? ToSeconds(wait) / ToSeconds(alive) : 0;
  }
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_SIMULATOR_SIMULATION_RESULT_H_
