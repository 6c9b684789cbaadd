#ifndef PACELINE_SERVICES_COORDINATOR_RUN_EVALUATION_QUEUE_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_EVALUATION_QUEUE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "services/coordinator/accuracy.h"
#include "services/coordinator/policy/types.h"
#include "services/coordinator/run/run_record.h"

namespace paceline {

// Snapshots on their way to the evaluator, one at a time, oldest first. A task
// whose evaluator is lost goes to the next one that comes. Where the servers
// have no room for more, every second one gives way, those to come as well: the
// curve is coarser, and as long.
//
// Thread-safe; `send` is called with its lock held and must only queue.
class EvaluationQueue {
 public:
  // Asks `evaluator` to evaluate a snapshot; `last` wants the whole test set.
  using Send =
      std::function<void(WorkerId evaluator, int64_t snapshot, bool last)>;

  // With `defer`, nothing is sent before Open(). `clock` outlives the queue.
  EvaluationQueue(bool defer, const Clock* clock, Send send)
      : clock_(clock), send_(std::move(send)), open_(!defer) {}

  // Whether the next snapshot is to be taken, once for each; the last one
  // always is.
  bool Admit(bool last);

  // `stamp` has everything but accuracy and loss.
  void Add(int64_t snapshot, bool last, const AccuracyPoint& stamp);
  // All servers had taken the snapshot when `version` was counted.
  void Completed(int64_t snapshot, int64_t version);
  void Open();

  void EvaluatorCame(WorkerId evaluator);
  // With `lost` it did not leave politely. Returned is a snapshot that has cost
  // three of them that, to be dropped.
  std::optional<int64_t> EvaluatorLeft(WorkerId evaluator, bool lost);

  // Puts the finished point into `record`, before the task counts as done, and
  // returns it. FAILED_PRECONDITION if that was not the task given.
  absl::StatusOr<AccuracyPoint> Done(WorkerId evaluator, int64_t snapshot,
                                     double accuracy, double loss,
                                     RunRecord& record);

  // The snapshot cannot be had; with `make_room` because the servers have none
  // left. What is not evaluated for that, to be released: it, and those that
  // give way. Nothing if it is not in the queue any more.
  std::vector<int64_t> Drop(int64_t snapshot, bool make_room);
  // Of how many snapshots one is taken.
  int64_t stride() const;

  struct Overdue {
    WorkerId evaluator;
    int64_t snapshot;
  };
  // The one that has been evaluated for longer than `limit`.
  std::optional<Overdue> FindOverdue(absl::Duration limit) const;

  // Snapshots not yet evaluated.
  size_t pending() const;
  bool has_evaluator() const;
  // Some could be evaluated now.
  bool wants_evaluator() const;
  bool AwaitEmpty(absl::Duration timeout) const;

 private:
  struct Task {
    int64_t snapshot;
    bool last;
    int64_t ordinal;  // Among those that Admit() was asked for.
    int lost = 0;     // Evaluators, with this task in hand.
    AccuracyPoint point;
  };

  void SendNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Clock* const clock_;
  const Send send_;
  mutable absl::Mutex mu_;
  bool open_ ABSL_GUARDED_BY(mu_);
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mu_);
  std::optional<WorkerId> evaluator_ ABSL_GUARDED_BY(mu_);
  bool sent_ ABSL_GUARDED_BY(mu_) = false;   // The front is being evaluated,
  absl::Time sent_at_ ABSL_GUARDED_BY(mu_);  // since then.
  int64_t asked_ ABSL_GUARDED_BY(mu_) = 0;   // Calls of Admit().
  int64_t stride_ ABSL_GUARDED_BY(mu_) = 1;
  // The last ordinal when the queue was thinned: refusals of what was on its
  // way by then do not thin it again.
  int64_t thinned_at_ ABSL_GUARDED_BY(mu_) = -1;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_EVALUATION_QUEUE_H_
