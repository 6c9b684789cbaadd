#include "services/simulator/run_statistics.h"

#include <algorithm>
#include <utility>

namespace paceline {

RunStatistics::RunStatistics(const ClusterSpec& spec)
    : model_bytes_(spec.model_bytes),
      gaps_(spec.workers.size()),
      staleness_(spec.workers.size()),
      joined_(spec.workers.size(), kNever) {
  for (const WorkerSpec& worker : spec.workers) {
    WorkerResult result;
    result.name = worker.name;
    result_.workers.push_back(std::move(result));
  }
}

void RunStatistics::Joined(size_t worker, Nanos at) { joined_[worker] = at; }

void RunStatistics::Gone(const VirtualWorker& worker, Nanos at) {
  WorkerResult& row = result_.workers[worker.index];
  if (worker.stage == VirtualWorker::Stage::kWaiting) {
    row.wait += std::max<Nanos>(0, at - worker.waits_since);
  }
  row.alive += at - std::exchange(joined_[worker.index], kNever);
}

void RunStatistics::Granted(size_t worker, Nanos waited) {
  WorkerResult& row = result_.workers[worker];
  row.wait += waited;
  row.longest_wait = std::max(row.longest_wait, waited);
}

void RunStatistics::Pushed(const VirtualWorker& worker, Nanos reported) {
  WorkerResult& row = result_.workers[worker.index];
  row.pull += worker.began - worker.granted;
  row.compute += worker.ended - worker.began;
  row.wait += worker.planned - worker.ended;
  row.push += reported - worker.planned;
  result_.pull_bytes += model_bytes_;
  if (worker.samples < SamplesIn(worker.grant.ranges())) ++result_.refreshed;
  if (worker.grant.plan.kind == PushPlan::Kind::kDiscard) {
    ++result_.discarded;
  } else {
    result_.push_bytes += model_bytes_;
  }
}

void RunStatistics::Counted(size_t worker, const PushCounted& counted) {
  WorkerResult& row = result_.workers[worker];
  ++row.pushes;
  row.samples += counted.samples;
  ++gaps_[worker][counted.gap];
  ++staleness_[worker][counted.staleness];
  ++result_.pushes;
  result_.samples += counted.samples;
  result_.samples_discarded += counted.discarded;
  row.samples_discarded += counted.discarded;
}

void RunStatistics::Decided(size_t worker, const Decision& decision) {
  if (decision.kind == DecisionKind::kNotFastest) {
    ++result_.workers[worker].held_not_fastest;
  }
}

void RunStatistics::Switched(const paceline::Switched& switched) {
  result_.switches.push_back({switched, std::nullopt});
}

void RunStatistics::Settled(const SwitchSettled& settled) {
  result_.switches.back().took = settled.took;
}

SimulationResult RunStatistics::Take(Nanos end) {
  for (size_t i = 0; i < joined_.size(); ++i) {
    WorkerResult& row = result_.workers[i];
    if (joined_[i] != kNever) row.alive += end - joined_[i];
    Fill(gaps_[i], row.gap, result_.gap);
    Fill(staleness_[i], row.staleness, result_.staleness);
  }
  result_.duration = end;
  return std::move(result_);
}

void RunStatistics::Fill(const Counts& counts, IntHistogram& one,
                         IntHistogram& all) {
  for (const auto& [value, times] : counts) {
    one.Add(value, times);
    all.Add(value, times);
  }
}

}  // namespace paceline
