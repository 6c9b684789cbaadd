#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_SAMPLE_PACES_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_SAMPLE_PACES_H_

#include "absl/container/btree_map.h"
#include "services/coordinator/sync/core/types.h"

namespace paceline {

// What is expected of a worker.
struct PaceForecast {
  bool known = false;       // Something of it was measured.
  double seconds_each = 1;  // For a sample; greater than 0.
  // By how much such forecasts of its times were wrong lately, as a share of
  // them: 0 for a worker that is always alike.
  double wrong = 0;
};

// What each worker takes for a sample, over its latest rounds, and how far that
// can be relied on. A surprise counts at once and is forgotten slowly: who was
// slow for a while may be so again.
//
// Every operation takes O(log workers). Thread-compatible.
class SamplePaces {
 public:
  // A round has taken the worker so long for each sample; what was foreseen of
  // its parts was wrong by at most `wrong`.  REQUIRES: seconds_each > 0.
  void Measured(WorkerId worker, double seconds_each, double wrong);

  // The worker is gone. Nothing happens if it is unknown.
  void Forget(WorkerId worker);

  // Of a worker of whom nothing is known: as the others are on average.
  PaceForecast Of(WorkerId worker) const;

 private:
  absl::btree_map<WorkerId, PaceForecast> paces_;
  double sum_ = 0;  // Of all seconds_each.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_SAMPLE_PACES_H_
