#include "services/coordinator/run/iteration_log.h"

#include <utility>

#include "services/coordinator/run/phase_times.h"

namespace paceline {

void IterationLog::Add(absl::string_view worker, double seconds,
                       const v1::PushDone& report) {
  const v1::PhaseSeconds& phases = report.seconds();
  if (!AreTimes(phases)) return;
  Entry entry = {.sequence = 0,
                 .seconds = seconds,
                 .worker = std::string(worker),
                 .iteration = report.iteration(),
                 .load = phases.load(),
                 .compute = phases.compute(),
                 .push = phases.push(),
                 .wait = phases.wait(),
                 .pull = phases.pull(),
                 .parked = phases.parked(),
                 .samples = report.samples(),
                 .discarded = report.discarded()};
  absl::MutexLock lock(&mu_);
  while (!entries_.empty() && entries_.back().seconds > seconds) {
    entries_.pop_back();
  }
  if (entries_.size() == kKept) entries_.pop_front();
  entry.sequence = next_++;
  entries_.push_back(std::move(entry));
}

std::vector<v1::Iteration> IterationLog::After(int64_t sequence,
                                               size_t count) const {
  absl::MutexLock lock(&mu_);
  const auto first =
      std::ranges::upper_bound(entries_, sequence, {}, &Entry::sequence);
  const auto left = static_cast<size_t>(entries_.end() - first);
  std::vector<v1::Iteration> iterations;
  iterations.reserve(std::min(left, count));
  for (auto it = first; it != entries_.end() && iterations.size() < count;
       ++it) {
    iterations.push_back(ToMessage(*it));
  }
  return iterations;
}

v1::Iteration IterationLog::ToMessage(const Entry& entry) {
  v1::Iteration iteration;
  iteration.set_sequence(entry.sequence);
  iteration.set_worker(entry.worker);
  iteration.set_seconds(entry.seconds);
  iteration.set_iteration(entry.iteration);
  iteration.set_samples(entry.samples);
  v1::PhaseSeconds& phases = *iteration.mutable_phases();
  phases.set_load(entry.load);
  phases.set_compute(entry.compute);
  phases.set_push(entry.push);
  phases.set_wait(entry.wait);
  phases.set_pull(entry.pull);
  phases.set_parked(entry.parked);
  iteration.set_discarded(entry.discarded);
  return iteration;
}

}  // namespace paceline
