#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_CGP_CGP_REGROUPER_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_CGP_CGP_REGROUPER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/types/span.h"
#include "services/coordinator/sync/core/types.h"
#include "services/coordinator/sync/paradigms/busy_times.h"
#include "services/coordinator/sync/paradigms/cgp/cgp_grouping.h"

namespace paceline {

// The regrouper decides when CGP divides its workers into groups anew, and how.
// It does so on schedule, or when a member's busy time was off its group's
// median by more than a share in each of 3 consecutive rounds
// (algorithms.md 3.3).
//
// Our reading: it never does so before every worker has pushed twice on
// average, so that the work is O(log workers) a push. After a division for
// drift that has changed nothing the next one comes on schedule, for a group
// may well be of unequal workers. Thread-compatible.
class CgpRegrouper {
 public:
  struct Options {
    double beta = 0.9;
    int64_t every = 50;  // After so many updates of groups; at least 1.
    double drift = 0.25;
  };

  explicit CgpRegrouper(const Options& options) : options_(options) {}

  void Pushed() { ++pushes_; }

  // A group of these members has made an update.
  void Updated(const absl::btree_set<WorkerId>& members, const BusyTimes& busy);

  void Forget(WorkerId worker) { off_.erase(worker); }

  // Whether it is time for a division of `workers` workers.
  bool Due(size_t workers) const;

  struct Division {
    // Sorted by (busy time, id); those whose busy time is unknown come last and
    // each on their own.
    std::vector<std::vector<WorkerId>> groups;
    double speed_share = 1;  // S over that of all on their own.
    double missed = 0;       // D
  };
  // `workers` are sorted.
  Division Divide(absl::Span<const WorkerId> workers, const BusyTimes& busy);

  // Whether that division has changed anything.
  void Divided(bool changed) { drift_counts_ = changed || !for_drift_; }

 private:
  const Options options_;
  // Both count since the last division.
  int64_t pushes_ = 0;
  int64_t updates_ = 0;
  bool drifted_ = false;
  bool drift_counts_ = true;
  bool for_drift_ = false;  // The latest division was made for drift.
  // In how many rounds in a row the worker was off its group's median.
  absl::btree_map<WorkerId, int> off_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_CGP_CGP_REGROUPER_H_
