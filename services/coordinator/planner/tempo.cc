#include "services/coordinator/planner/tempo.h"

#include <algorithm>

#include "absl/time/time.h"
#include "common/micro_batches.h"

namespace paceline {
namespace {

// Iterations of a worker, cut and uncut, that tell them apart.
constexpr size_t kEachKind = 3;
constexpr double kMostMicroBatchCost = 1;

}  // namespace

void Tempo::Add(const MeasuredIteration& it) {
  ++iterations;
  seconds += absl::ToDoubleSeconds(it.compute);
  samples += it.samples;
  extra += it.micro_batches - 1.0;
}

Tempo TempoOf(const std::vector<MeasuredIteration>& iterations) {
  Tempo tempo;
  for (const MeasuredIteration& it : iterations) tempo.Add(it);
  return tempo;
}

double UncutBatch(const PlayedJob& job, const Tempo& tempo) {
  return tempo.seconds /
         (tempo.samples / job.batch_size + job.micro_batch_cost * tempo.extra);
}

double NetSeconds(const MeasuredIteration& iteration, double cost) {
  const double compute = absl::ToDoubleSeconds(iteration.compute);
  return std::max(compute - cost * (iteration.micro_batches - 1.0),
                  compute / 4);
}

uint32_t UncutMicroBatches(const PlayedJob& job, const SampleWishes& wishes,
                           uint32_t samples) {
  const uint32_t limit =
      MicroBatchLimit(job.batch_size, job.micro_batch, wishes.micro_batch, 0);
  return (samples + limit - 1) / limit;
}

std::optional<double> MicroBatchCost(const PlayedJob& job,
                                     absl::Span<const MeasuredWorker> workers) {
  double longer = 0;  // Than uncut, in full batches' time,
  double extra = 0;   // of so many micro-batches more.
  for (const MeasuredWorker& worker : workers) {
    Tempo uncut;
    Tempo cut;
    for (const MeasuredIteration& it : worker.iterations) {
      const bool whole =
          it.micro_batches <= UncutMicroBatches(job, worker.wishes, it.samples);
      (whole ? uncut : cut).Add(it);
    }
    if (uncut.iterations < kEachKind || cut.iterations < kEachKind) continue;
    const double batch = uncut.seconds / uncut.samples * job.batch_size;
    longer += cut.seconds / batch - cut.samples / job.batch_size;
    // The uncut ones have some, too, if the job has micro-batches.
    extra += cut.extra - uncut.extra * cut.samples / uncut.samples;
  }
  if (extra <= 0) return std::nullopt;
  return std::clamp(longer / extra, 0.0, kMostMicroBatchCost);
}

double SecondsOfBatch(const PlayedJob& job, const MeasuredWorker& worker) {
  absl::Duration pushes;
  for (const MeasuredIteration& it : worker.iterations) pushes += it.push;
  const Tempo tempo = TempoOf(worker.iterations);
  return UncutBatch(job, tempo) +
         absl::ToDoubleSeconds(pushes) / static_cast<double>(tempo.iterations);
}

}  // namespace paceline
