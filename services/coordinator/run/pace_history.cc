#include "services/coordinator/run/pace_history.h"

#include <algorithm>
#include <utility>

namespace paceline {
namespace {

// No more than a day: what a worker says of itself may be anything.
bool IsTime(absl::Duration time) {
  return time >= absl::ZeroDuration() && time <= absl::Hours(24);
}

}  // namespace

void PaceHistory::Granted(WorkerId worker, double at, uint32_t samples,
                          uint32_t limit) {
  Worker& of = workers_[worker];
  of.limit = std::max(1u, limit);
  of.granted = samples;
  of.granted_at = at;
  of.micro_batches = (samples + of.limit - 1) / of.limit;
}

void PaceHistory::Extended(WorkerId worker, uint32_t samples) {
  const auto it = workers_.find(worker);
  if (it == workers_.end() || it->second.granted == 0) return;
  Worker& of = it->second;
  of.granted += samples;
  of.micro_batches += (samples + of.limit - 1) / of.limit;
}

void PaceHistory::BrokenOff(WorkerId worker, double at) {
  const auto it = workers_.find(worker);
  if (it == workers_.end() || it->second.granted == 0) return;
  Worker& of = it->second;
  if (of.iterations.empty()) {
    of.granted = 0;
    return;
  }
  const MeasuredIteration& last = of.iterations.back();
  const double took =
      std::max(0.0, at - of.granted_at - absl::ToDoubleSeconds(last.pull));
  std::vector<double> longer;
  for (const MeasuredIteration& known : of.iterations) {
    const double whole =
        absl::ToDoubleSeconds(known.compute) / known.samples * of.granted;
    if (whole > took) longer.push_back(whole);
  }
  const double would =
      longer.empty() ? took : longer[of.broken_off++ % longer.size()];
  Reported(worker, {.compute = absl::Seconds(would),
                    .push = last.push,
                    .pull = last.pull,
                    .samples = of.granted,
                    .discarded = true,
                    .at = at});
}

void PaceHistory::Reported(WorkerId worker, MeasuredIteration iteration) {
  const auto it = workers_.find(worker);
  if (it == workers_.end() || it->second.granted == 0) return;
  Worker& of = it->second;
  const uint32_t granted = std::exchange(of.granted, 0);
  if (iteration.samples == 0 || iteration.compute <= absl::ZeroDuration() ||
      !IsTime(iteration.compute) || !IsTime(iteration.push) ||
      !IsTime(iteration.pull)) {
    return;
  }
  // It may have been told to push a part.
  const uint64_t used = std::min(iteration.samples, granted);
  iteration.micro_batches = std::max<uint32_t>(
      1,
      static_cast<uint32_t>((of.micro_batches * used + granted - 1) / granted));
  if (of.iterations.size() == kKept) of.iterations.pop_front();
  of.iterations.push_back(iteration);
}

std::vector<MeasuredIteration> PaceHistory::Of(WorkerId worker) const {
  const auto it = workers_.find(worker);
  if (it == workers_.end()) return {};
  return {it->second.iterations.begin(), it->second.iterations.end()};
}

}  // namespace paceline
