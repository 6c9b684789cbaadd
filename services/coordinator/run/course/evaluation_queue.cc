#include "services/coordinator/run/course/evaluation_queue.h"

#include <algorithm>
#include <utility>

namespace paceline {
namespace {

// Evaluators that one snapshot may cost: it may be what ends them.
constexpr int kLostMax = 3;

}  // namespace

bool EvaluationQueue::Admit(bool last, absl::Time now, absl::Duration trained) {
  ++asked_;
  if (last) return true;
  if (asked_ % stride_ != 0) return false;
  return share_ == 0 || CostWithOneMore(now) <= share_ * trained;
}

absl::Duration EvaluationQueue::CostWithOneMore(absl::Time now) const {
  // Of the first one is only known how long it takes already.
  absl::Duration each = given_ ? now - given_at_ : absl::ZeroDuration();
  if (measured_ > 0) each = std::max(each, spent_ / measured_);
  return spent_ + static_cast<int64_t>(pending() + 1) * each;
}

void EvaluationQueue::Add(int64_t snapshot, bool last,
                          const AccuracyPoint& stamp) {
  snapshots_.push_back({snapshot, last, asked_, 0, stamp});
}

void EvaluationQueue::Completed(int64_t snapshot, int64_t version) {
  for (Snapshot& task : snapshots_) {
    if (task.snapshot == snapshot) task.point.version_at_completion = version;
  }
}

void EvaluationQueue::EvaluatorCame(WorkerId evaluator) {
  evaluator_ = evaluator;
  given_ = false;
}

std::optional<int64_t> EvaluationQueue::EvaluatorLeft(WorkerId evaluator,
                                                      bool lost) {
  if (evaluator_ != evaluator) return std::nullopt;
  evaluator_.reset();
  if (!std::exchange(given_, false) || !lost) return std::nullopt;
  Snapshot& task = snapshots_.front();
  if (++task.lost < kLostMax) return std::nullopt;
  return task.snapshot;
}

absl::StatusOr<AccuracyPoint> EvaluationQueue::Done(
    absl::Time now, WorkerId evaluator, int64_t snapshot,
    std::optional<double> accuracy, std::optional<double> loss,
    const std::map<std::string, double>& metrics) {
  if (!given_ || evaluator_ != evaluator ||
      snapshots_.front().snapshot != snapshot) {
    return absl::FailedPreconditionError(
        "that snapshot is not being evaluated by this member");
  }
  AccuracyPoint point = snapshots_.front().point;
  point.accuracy = accuracy;
  point.loss = loss;
  point.metrics = metrics;
  snapshots_.pop_front();
  given_ = false;
  ++measured_;
  spent_ += now - given_at_;
  InsertBySeconds(accuracy_, point);
  return point;
}

std::vector<int64_t> EvaluationQueue::Drop(int64_t snapshot, bool make_room) {
  const auto found = std::find_if(
      snapshots_.begin(), snapshots_.end(),
      [snapshot](const Snapshot& task) { return task.snapshot == snapshot; });
  if (found == snapshots_.end()) return {};
  std::vector<int64_t> dropped = {snapshot};
  const bool thin = make_room && found->ordinal > thinned_at_;
  if (found == snapshots_.begin()) given_ = false;
  snapshots_.erase(found);
  if (thin) {
    thinned_at_ = asked_;
    stride_ *= 2;
    std::deque<Snapshot> kept;
    for (const Snapshot& task : snapshots_) {
      const bool in_hand = given_ && kept.empty();
      if (in_hand || task.last || task.ordinal % stride_ == 0) {
        kept.push_back(task);
      } else {
        dropped.push_back(task.snapshot);
      }
    }
    snapshots_ = std::move(kept);
  }
  return dropped;
}

std::optional<EvaluationQueue::Task> EvaluationQueue::FindOverdue(
    absl::Time now, absl::Duration limit) const {
  if (!given_ || now - given_at_ <= limit) return std::nullopt;
  return Task{*evaluator_, snapshots_.front().snapshot,
              snapshots_.front().last};
}

std::optional<EvaluationQueue::Task> EvaluationQueue::TakeNext(absl::Time now) {
  if (!open_ || given_ || snapshots_.empty() || !evaluator_.has_value()) {
    return std::nullopt;
  }
  given_ = true;
  given_at_ = now;
  return Task{*evaluator_, snapshots_.front().snapshot,
              snapshots_.front().last};
}

}  // namespace paceline
