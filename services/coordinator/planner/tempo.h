#ifndef PACELINE_SERVICES_COORDINATOR_PLANNER_TEMPO_H_
#define PACELINE_SERVICES_COORDINATOR_PLANNER_TEMPO_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "services/coordinator/run/training_paces.h"

namespace paceline {

// How long workers compute, by what was measured of them.

// Of iterations that are alike cut, or of all.
struct Tempo {
  size_t iterations = 0;
  double seconds = 0;  // Of computing.
  double samples = 0;
  double extra = 0;  // Micro-batches after the first.

  void Add(const MeasuredIteration& it);
};

Tempo TempoOf(const std::vector<MeasuredIteration>& iterations);

// Of computing a full batch as a whole, in seconds.
double UncutBatch(const PlayedJob& job, const Tempo& tempo);

// What the iteration's computing would have taken uncut, in seconds, if each
// micro-batch after its first has cost so many: however short it was, not all
// of it was for the cuts.
double NetSeconds(const MeasuredIteration& iteration, double cost);

// Micro-batches of so many samples of such a worker that no paradigm cuts
// further.
uint32_t UncutMicroBatches(const PlayedJob& job, const SampleWishes& wishes,
                           uint32_t samples);

// PlayedJob::micro_batch_cost by what was measured: by how much longer a sample
// takes in iterations that a paradigm has cut than in the median one of the
// same worker that was not cut; the median of that. Nothing, unless there are
// enough of both kinds.
std::optional<double> MicroBatchCost(const PlayedJob& job,
                                     absl::Span<const MeasuredWorker> workers);

// What the worker takes for a full batch that is not cut, push included, on
// average, in seconds.  REQUIRES: it has iterations.
double SecondsOfBatch(const PlayedJob& job, const MeasuredWorker& worker);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_PLANNER_TEMPO_H_
