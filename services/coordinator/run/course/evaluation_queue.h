#ifndef PACELINE_SERVICES_COORDINATOR_RUN_COURSE_EVALUATION_QUEUE_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_COURSE_EVALUATION_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/coordinator/accuracy.h"
#include "services/coordinator/sync/core/types.h"

namespace paceline {

// Snapshots on their way to the evaluator, one at a time, oldest first. A task
// whose evaluator is lost goes to the next one that comes. Where the servers
// have no room for more, every second one gives way, those to come as well: the
// curve is coarser, and as long. Likewise where evaluations would cost more
// than a share of the training: a snapshot that they have no time for is not
// taken. Thread-compatible.
class EvaluationQueue {
 public:
  struct Options {
    // Nothing is given out before Open(), and nothing is bounded.
    bool defer = false;
    // Of the time that all trainers train, evaluations may take so much; 0:
    // they are not bounded.
    double share = 0;
  };

  explicit EvaluationQueue(const Options& options)
      : open_(!options.defer), share_(options.defer ? 0 : options.share) {}

  // Whether the next snapshot is to be taken, once for each; the last one
  // always is. `trained` is the time of all trainers together until now.
  bool Admit(bool last, absl::Time now, absl::Duration trained);

  // `stamp` has everything but accuracy and loss.
  void Add(int64_t snapshot, bool last, const AccuracyPoint& stamp);
  // All servers had taken the snapshot when `version` was counted.
  void Completed(int64_t snapshot, int64_t version);
  void Open() { open_ = true; }

  // REQUIRES: there is none.
  void EvaluatorCame(WorkerId evaluator);
  // With `lost` it did not leave politely. Returns the snapshot that it had in
  // hand if three evaluators have been lost over it: the caller drops it.
  std::optional<int64_t> EvaluatorLeft(WorkerId evaluator, bool lost);

  struct Task {
    WorkerId evaluator;
    int64_t snapshot;
    bool last;  // It wants the whole test set.
  };
  // What an evaluator is to be asked for now, if anything; it counts as given
  // from then on.
  std::optional<Task> TakeNext(absl::Time now);

  // The finished point, which accuracy() has from now on. FAILED_PRECONDITION
  // if that was not the task given.
  absl::StatusOr<AccuracyPoint> Done(
      absl::Time now, WorkerId evaluator, int64_t snapshot,
      std::optional<double> accuracy, std::optional<double> loss,
      const std::map<std::string, double>& metrics = {});

  // The snapshot cannot be had; with `make_room` because the servers have none
  // left. What is not evaluated for that, to be released: it, and those that
  // give way. Nothing if it is not in the queue any more.
  std::vector<int64_t> Drop(int64_t snapshot, bool make_room);
  // Of how many snapshots one is taken.
  int64_t stride() const { return stride_; }

  // The one that has been evaluated for longer than `limit`.
  std::optional<Task> FindOverdue(absl::Time now, absl::Duration limit) const;

  // All points so far, sorted by seconds.
  const std::vector<AccuracyPoint>& accuracy() const { return accuracy_; }

  // Snapshots not yet evaluated.
  size_t pending() const { return snapshots_.size(); }
  bool has_evaluator() const { return evaluator_.has_value(); }
  // Some could be evaluated now.
  bool wants_evaluator() const { return open_ && !snapshots_.empty(); }

 private:
  // What those that were evaluated, those that wait and one more cost.
  absl::Duration CostWithOneMore(absl::Time now) const;

  struct Snapshot {
    int64_t snapshot;
    bool last;
    int64_t ordinal;  // Among those that Admit() was asked for.
    int lost = 0;     // Evaluators, with this task in hand.
    AccuracyPoint point;
  };

  bool open_;
  double share_;
  int64_t measured_ = 0;  // Evaluations that are done,
  absl::Duration spent_;  // and how long they have taken.
  std::deque<Snapshot> snapshots_;
  std::optional<WorkerId> evaluator_;
  bool given_ = false;   // The front is being evaluated,
  absl::Time given_at_;  // since then.
  int64_t asked_ = 0;    // Calls of Admit().
  int64_t stride_ = 1;
  // The last ordinal when the queue was thinned: refusals of what was on its
  // way by then do not thin it again.
  int64_t thinned_at_ = -1;
  std::vector<AccuracyPoint> accuracy_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_COURSE_EVALUATION_QUEUE_H_
