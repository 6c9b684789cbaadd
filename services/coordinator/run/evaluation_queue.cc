#include "services/coordinator/run/evaluation_queue.h"

#include <algorithm>
#include <utility>

namespace paceline {
namespace {

// Evaluators that one snapshot may cost: it may be what ends them.
constexpr int kLostMax = 3;

}  // namespace

bool EvaluationQueue::Admit(bool last) {
  absl::MutexLock lock(&mu_);
  ++asked_;
  return last || asked_ % stride_ == 0;
}

void EvaluationQueue::Add(int64_t snapshot, bool last,
                          const AccuracyPoint& stamp) {
  absl::MutexLock lock(&mu_);
  tasks_.push_back({snapshot, last, asked_, 0, stamp});
  SendNext();
}

void EvaluationQueue::Completed(int64_t snapshot, int64_t version) {
  absl::MutexLock lock(&mu_);
  for (Task& task : tasks_) {
    if (task.snapshot == snapshot) task.point.version_at_completion = version;
  }
}

void EvaluationQueue::Open() {
  absl::MutexLock lock(&mu_);
  open_ = true;
  SendNext();
}

void EvaluationQueue::EvaluatorCame(WorkerId evaluator) {
  absl::MutexLock lock(&mu_);
  evaluator_ = evaluator;
  sent_ = false;
  SendNext();
}

std::optional<int64_t> EvaluationQueue::EvaluatorLeft(WorkerId evaluator,
                                                      bool lost) {
  absl::MutexLock lock(&mu_);
  if (evaluator_ != evaluator) return std::nullopt;
  evaluator_.reset();
  if (!std::exchange(sent_, false) || !lost) return std::nullopt;
  Task& task = tasks_.front();
  if (++task.lost < kLostMax) return std::nullopt;
  return task.snapshot;
}

absl::StatusOr<AccuracyPoint> EvaluationQueue::Done(WorkerId evaluator,
                                                    int64_t snapshot,
                                                    double accuracy,
                                                    double loss,
                                                    RunRecord& record) {
  absl::MutexLock lock(&mu_);
  if (!sent_ || evaluator_ != evaluator ||
      tasks_.front().snapshot != snapshot) {
    return absl::FailedPreconditionError(
        "that snapshot is not being evaluated by this member");
  }
  AccuracyPoint point = tasks_.front().point;
  point.accuracy = accuracy;
  point.loss = loss;
  record.Evaluated(point);
  tasks_.pop_front();
  sent_ = false;
  SendNext();
  return point;
}

std::vector<int64_t> EvaluationQueue::Drop(int64_t snapshot, bool make_room) {
  absl::MutexLock lock(&mu_);
  const auto found = std::find_if(
      tasks_.begin(), tasks_.end(),
      [snapshot](const Task& task) { return task.snapshot == snapshot; });
  if (found == tasks_.end()) return {};
  std::vector<int64_t> dropped = {snapshot};
  const bool thin = make_room && found->ordinal > thinned_at_;
  if (found == tasks_.begin()) sent_ = false;
  tasks_.erase(found);
  if (thin) {
    thinned_at_ = asked_;
    stride_ *= 2;
    std::deque<Task> kept;
    for (const Task& task : tasks_) {
      const bool in_hand = sent_ && kept.empty();
      if (in_hand || task.last || task.ordinal % stride_ == 0) {
        kept.push_back(task);
      } else {
        dropped.push_back(task.snapshot);
      }
    }
    tasks_ = std::move(kept);
  }
  SendNext();
  return dropped;
}

std::optional<EvaluationQueue::Overdue> EvaluationQueue::FindOverdue(
    absl::Duration limit) const {
  const absl::Time now = clock_->Now();
  absl::MutexLock lock(&mu_);
  if (!sent_ || now - sent_at_ <= limit) return std::nullopt;
  return Overdue{*evaluator_, tasks_.front().snapshot};
}

int64_t EvaluationQueue::stride() const {
  absl::MutexLock lock(&mu_);
  return stride_;
}

size_t EvaluationQueue::pending() const {
  absl::MutexLock lock(&mu_);
  return tasks_.size();
}

bool EvaluationQueue::has_evaluator() const {
  absl::MutexLock lock(&mu_);
  return evaluator_.has_value();
}

bool EvaluationQueue::wants_evaluator() const {
  absl::MutexLock lock(&mu_);
  return open_ && !tasks_.empty();
}

bool EvaluationQueue::AwaitEmpty(absl::Duration timeout) const {
  absl::MutexLock lock(&mu_);
  const auto empty = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return tasks_.empty();
  };
  return mu_.AwaitWithTimeout(absl::Condition(&empty), timeout);
}

void EvaluationQueue::SendNext() {
  if (!open_ || sent_ || tasks_.empty() || !evaluator_.has_value()) return;
  sent_ = true;
  sent_at_ = clock_->Now();
  send_(*evaluator_, tasks_.front().snapshot, tasks_.front().last);
}

}  // namespace paceline
