#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_CGP_CGP_REGROUPER_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_CGP_CGP_REGROUPER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
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
// may well be of unequal workers. A worker that moves waits for its new group's
// round, and paces that scatter would move workers for ever: the present groups
// stay while they are nearly as fast as `beta` asks and as good as the best.
// Thread-compatible.
class CgpRegrouper {
 public:
  struct Options {
    double beta = 0.9;
    int64_t every = 50;  // After so many updates of each group; at least 1.
    double drift = 0.25;
  };

  explicit CgpRegrouper(const Options& options) : options_(options) {}

  void Pushed() { ++pushes_; }

  // A group of these members has made an update.
  void Updated(const absl::btree_set<WorkerId>& members, const BusyTimes& busy);

  void Forget(WorkerId worker) { off_.erase(worker); }

  // Whether it is time for a division of `workers` workers, who are divided
  // into `groups` groups.
  bool Due(size_t workers, size_t groups) const;

  using Groups = std::vector<std::vector<WorkerId>>;
  struct Division {
    // Those that there are, or new ones: sorted by (busy time, id); those whose
    // busy time is unknown come last and each on their own.
    Groups groups;
    double speed_share = 1;  // S over that of all on their own.
    double missed = 0;       // D
  };
  // `present` are the groups that the workers are in; none: there are no groups
  // yet.
  Division Divide(absl::Span<const WorkerId> workers, const Groups& present,
                  const BusyTimes& busy);

  // Whether that division has changed anything.
  void Divided(bool changed) { drift_counts_ = changed || !for_drift_; }

 private:
  // What is predicted of those groups. Nothing if a busy time is not known.
  static std::optional<CgpGrouping> Evaluate(const Groups& groups,
                                             const BusyTimes& busy);
  // Whether these groups may stay, though others would be the best.
  bool MayStay(const CgpGrouping& present, const CgpGrouping& best,
               double alone) const;

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
