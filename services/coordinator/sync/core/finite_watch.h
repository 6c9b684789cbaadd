#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_CORE_FINITE_WATCH_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_CORE_FINITE_WATCH_H_

#include <cstddef>
#include <cstdint>
#include <deque>

#include "absl/container/btree_map.h"
#include "absl/time/time.h"
#include "services/coordinator/sync/core/types.h"

namespace paceline {

// Judges pushes that are not finite: is one worker to blame, or is the whole
// job lost? A push is not finite if its loss was not, so that nothing was
// pushed, or if servers have refused blocks of it.
//
// Who computes from weights that have gone bad finds what everybody finds; so
// one worker is to blame only if another has made something finite of weights
// that it was granted after the first one's trouble began.
//
// Every operation takes O(log workers), but for a push that is not finite while
// most of the latest ones were not: that looks at the latest kWindow.
// Thread-compatible.
class FiniteWatch {
 public:
  enum class Verdict {
    kNone,
    kWorker,  // Its last kInARow pushes were not finite, and others' are.
    kJob,     // Pushes were not finite in a row, or most of the latest.
  };

  // Of one worker.
  static constexpr int kInARow = 3;
  // Of the job: at least so many, and kInARow of each member on average, by
  // more than one worker unless there is only one.
  static constexpr int kJobInARow = 10;
  // Or so many of the latest, by at least half of the members and, again, by
  // more than one unless there is only one.
  static constexpr size_t kWindow = 100;
  static constexpr size_t kMost = 60;

  // REQUIRES: `worker` is not a member.
  void Join(WorkerId worker);
  // REQUIRES (both): `worker` is a member.
  void Leave(WorkerId worker);
  // It has pushed, at `now`, the iteration that it was granted at `granted`.
  Verdict Pushed(absl::Time now, absl::Time granted, WorkerId worker,
                 bool finite);

  // How many pushes of the job in a row, and how many of the latest kWindow,
  // were not finite.
  int in_a_row() const { return in_a_row_; }
  size_t in_window() const { return in_window_; }

 private:
  struct Member {
    int in_a_row = 0;
    absl::Time since;  // The first of them.
  };
  struct Push {
    WorkerId worker;
    bool finite = true;
  };

  size_t WorkersInWindow() const;

  absl::btree_map<WorkerId, Member> members_;
  std::deque<Push> latest_;  // At most kWindow.
  size_t in_window_ = 0;
  int in_a_row_ = 0;
  WorkerId first_in_row_{0};
  bool several_in_row_ = false;  // By more than one worker.
  absl::Time finite_granted_ = absl::InfinitePast();  // The latest such grant.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_CORE_FINITE_WATCH_H_
