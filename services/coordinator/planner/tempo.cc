#include "services/coordinator/planner/tempo.h"

#include <algorithm>

#include "absl/time/time.h"
#include "common/micro_batches.h"

namespace paceline {
namespace {

// Iterations of a worker, cut and uncut, that tell them apart.
constexpr size_t kEachKind = 3;
constexpr double kMostMicroBatchCost = 1;

double Median(std::vector<double>& of) {
  const auto middle = of.begin() + static_cast<ptrdiff_t>(of.size() / 2);
  std::nth_element(of.begin(), middle, of.end());
  return *middle;
}

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
  // What each cut iteration says by itself. Among times that scatter the sums
  // would say nothing: whoever steals does more while it is fast.
  std::vector<double> costs;
  for (const MeasuredWorker& worker : workers) {
    const auto is_cut = [&](const MeasuredIteration& it) {
      return it.micro_batches >
             UncutMicroBatches(job, worker.wishes, it.samples);
    };
    std::vector<const MeasuredIteration*> cut;
    uint32_t piece = 0;  // The largest.
    for (const MeasuredIteration& it : worker.iterations) {
      if (!is_cut(it)) continue;
      cut.push_back(&it);
      const uint32_t pieces = it.micro_batches;
      piece = std::max(piece, (it.samples + pieces - 1) / pieces);
    }
    std::vector<double> uncut;  // Seconds of a batch, extra ones included.
    Tempo whole;
    for (const MeasuredIteration& it : worker.iterations) {
      // Of a piece alone there was nothing to cut. It is what was left for who
      // was slow.
      if (is_cut(it) || it.samples <= piece) continue;
      whole.Add(it);
      uncut.push_back(absl::ToDoubleSeconds(it.compute) / it.samples *
                      job.batch_size);
    }
    if (uncut.size() < kEachKind || cut.size() < kEachKind) continue;
    const double batch = Median(uncut);
    const double extra_of_batch = whole.extra / whole.samples * job.batch_size;
    for (const MeasuredIteration* const it : cut) {
      const double batches = absl::ToDoubleSeconds(it->compute) / batch;
      // Uncut ones have some, too, if the job has micro-batches.
      const double extra = it->micro_batches - 1.0 - extra_of_batch * batches;
      if (extra <= 0) continue;
      costs.push_back((batches - 1.0 * it->samples / job.batch_size) / extra);
    }
  }
  if (costs.size() < kEachKind) return std::nullopt;
  return std::clamp(Median(costs), 0.0, kMostMicroBatchCost);
}

double SecondsOfBatch(const PlayedJob& job, const MeasuredWorker& worker) {
  absl::Duration pushes;
  for (const MeasuredIteration& it : worker.iterations) pushes += it.push;
  const Tempo tempo = TempoOf(worker.iterations);
  return UncutBatch(job, tempo) +
         absl::ToDoubleSeconds(pushes) / static_cast<double>(tempo.iterations);
}

}  // namespace paceline
