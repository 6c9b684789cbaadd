#include "services/simulator/timeline.h"

#include <algorithm>

namespace paceline {

Timeline::Timeline(size_t workers, size_t spans_max)
    : spans_max_(spans_max), rows_(workers), row_ends_(workers, 0) {}

void Timeline::Joined(Nanos at, WorkerId worker, size_t index) {
  // Workers are numbered in the order in which they join.
  indices_.resize(ToNumber(worker) + 1);
  indices_.back() = index;
  Extend(index, WorkerPhase::kAbsent, at);
  Reach(at);
}

void Timeline::IterationOver(Nanos at, const Grant& grant,
                             const IterationTimes& times) {
  const size_t index = IndexOf(grant.worker);
  Extend(index, WorkerPhase::kWait, times.granted);
  Extend(index, WorkerPhase::kPull, times.began);
  Extend(index, WorkerPhase::kCompute, times.ended);
  Extend(index, WorkerPhase::kWait, times.planned);
  Extend(index, WorkerPhase::kPush, times.reported);
  Reach(at);
}

void Timeline::Gone(Nanos at, WorkerId worker) {
  Extend(IndexOf(worker), WorkerPhase::kWait, at);
  Reach(at);
}

void Timeline::Extend(size_t index, WorkerPhase phase, Nanos until) {
  if (full_) until = std::min(until, end_);
  if (until <= row_ends_[index]) return;
  rows_[index].push_back({phase, until - row_ends_[index]});
  row_ends_[index] = until;
  ++spans_;
}

void Timeline::Reach(Nanos at) {
  if (full_) return;
  end_ = std::max(end_, at);
  full_ = spans_ >= spans_max_;
}

}  // namespace paceline
