#ifndef PACELINE_SERVICES_COORDINATOR_PLANNER_FORECAST_H_
#define PACELINE_SERVICES_COORDINATOR_PLANNER_FORECAST_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/job/paradigm_spec.h"
#include "services/coordinator/run/training_paces.h"

namespace paceline {

// What a paradigm is expected to come to with given workers.
struct Forecast {
  // That are trained on: what is discarded does not count.
  double samples_per_second = 0;
  // Updates that a push is behind, on average.
  double staleness = 0;
  // Of the samples, those that a round has gathered, and how many batches a
  // round has, on average.
  double in_rounds = 0;
  double round_batches = 0;
  // What a sample is worth beside one in an update of a single batch. Less than
  // 1 only where large updates waste some: with the rate of AdaScale. By other
  // strengths a sample moves the weights as far as it ever does.
  double efficiency = 1;

  // Samples a second of the same worth as fresh ones. REQUIRES: workers > 0.
  double Value(size_t workers) const;
};

// The share of its worth that is left of a push of such staleness. Nothing
// measures it yet, so it is a cautious guess: ASP, whose pushes are as stale as
// there are other workers, needed 1.6 times the samples of BSP on the clusters
// of docs/comparison.md, and CGP with a staleness of one was a tenth less
// accurate than BSP after the same samples of a harder task.
double WorthOfStale(double staleness, size_t workers);

// Plays the paradigm on iterations that were measured: the real core, virtual
// workers. The same arguments give the same result. `luck` chooses where each
// worker's iterations begin. Takes some microseconds for each push, of which
// there are some 20,000 at most, and 100,000 where paces differ very much. More
// than 150 workers are played by 100 that stand for them (worker_sample.h).
// REQUIRES: at least one worker; each has iterations.
Forecast Play(const ParadigmSpec& paradigm, const PlayedJob& job,
              absl::Span<const MeasuredWorker> workers, uint64_t luck = 1);

// The same by playing all of them, however many there are.
Forecast PlayWhole(const ParadigmSpec& paradigm, const PlayedJob& job,
                   absl::Span<const MeasuredWorker> workers, uint64_t luck = 1);

// What is worth playing with so many workers, as people write it
// (ParseBatchedParadigm). Each can be had at any moment. `ada_scale`: of a job
// whose rate follows the noise, so that large rounds may be worth while.
std::vector<std::string> ParadigmsFor(size_t workers, bool ada_scale = false);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_PLANNER_FORECAST_H_
