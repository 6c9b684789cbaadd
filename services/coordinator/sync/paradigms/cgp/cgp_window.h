#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_CGP_CGP_WINDOW_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_CGP_CGP_WINDOW_H_

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/time/time.h"
#include "services/coordinator/sync/paradigms/cgp/cgp_groups.h"

namespace paceline {

// The time in which ready groups come together for one global update
// (algorithms.md 3.2, MERGE). It ends at a deadline, or as soon as all groups
// have joined that were predicted to. Thread-compatible.
class CgpWindow {
 public:
  // Opens the window.  REQUIRES: it is not open.
  void Open(absl::Time closes_at, absl::btree_set<CgpGroupId> predicted) {
    open_ = true;
    closes_at_ = closes_at;
    predicted_ = std::move(predicted);
  }

  // A ready group joins.  REQUIRES: the window is open.
  void Join(absl::Time now, CgpGroupId group) {
    joined_.insert(group);
    Forget(now, group);
  }

  // The group need not be waited for (any more).
  void Forget(absl::Time now, CgpGroupId group) {
    if (predicted_.erase(group) == 0 || !predicted_.empty()) return;
    closes_at_ = std::min(closes_at_, now);
  }

  // The group has joined, but has nothing left to be applied.
  void Leave(CgpGroupId group) { joined_.erase(group); }

  // The groups that have joined. It is not open afterwards.
  absl::btree_set<CgpGroupId> Close() {
    open_ = false;
    predicted_.clear();
    return std::exchange(joined_, {});
  }

  bool open() const { return open_; }
  absl::Time closes_at() const { return closes_at_; }
  // How many predicted groups have yet to join.
  size_t predicted() const { return predicted_.size(); }

 private:
  bool open_ = false;
  absl::Time closes_at_ = absl::InfiniteFuture();
  absl::btree_set<CgpGroupId> joined_;
  absl::btree_set<CgpGroupId> predicted_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_CGP_CGP_WINDOW_H_
