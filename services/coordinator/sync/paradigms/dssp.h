#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_DSSP_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_DSSP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "common/job/paradigm_spec.h"
#include "services/coordinator/sync/core/sync_policy.h"
#include "services/coordinator/sync/paradigms/dssp_controller.h"
#include "services/coordinator/sync/paradigms/gate.h"
#include "services/coordinator/sync/paradigms/pace_table.h"

namespace paceline {

// Dynamic stale synchronous parallel (Zhao, An, Liu, Chen, ICDCS 2019;
// algorithms.md 2 with the readings D1 to D14): pushes are applied as they
// arrive. A worker may go on at a gap of at most `lower`; beyond it, the
// fastest one gets as many further iterations as bring it to its best meeting
// with the slowest. Others wait until their gap is `lower` again.
//
// THE DEFAULT MODE, `paper`, DOES NOT ENFORCE THE UPPER BOUND; `bounded` does.
//
// An allowance is used up before anything else is asked, also when the gap has
// fallen to `lower` meanwhile (D13). Who becomes idle loses its allowance and
// its measured interval, for both belong to a pace that has ended.
class Dssp final : public SyncPolicy {
 public:
  // REQUIRES: 0 <= lower <= upper; fastest_within >= 0.
  explicit Dssp(const DsspOptions& options);

  void Adopt(const SyncView& view, std::vector<Action>& actions) override;

  // Releases the event's own worker first, then those who waited, by clock and
  // then by id.
  void Apply(const SyncView& view, const Event& event,
             std::vector<Action>& actions) override;

  std::string Describe() const override {
    return FormatParadigm(PlainParadigm{options_});
  }
  PolicyView View() const override;

 private:
  // Releases the worker or holds it.
  void Decide(WorkerId worker, std::vector<Action>& actions);

  // Whether the worker may go on, by the kind of the decision; takes from its
  // allowance or grants it one.
  Decision Judge(WorkerId worker);
  // Judges a worker that is beyond the lower bound and has no allowance.
  Decision AskController(WorkerId worker, int64_t gap);

  void GoOn(const Decision& why, std::vector<Action>& actions);

  // The worker counts no more: its pace and its allowance are void.
  void Forget(WorkerId worker);

  WorkerClock Clock(WorkerId worker) const {
    return view_->clocks().Of(worker);
  }

  const DsspOptions options_;
  const SyncView* view_ = nullptr;  // Set by Adopt().
  Gate gate_;                       // Its bound is the lower one.
  PaceTable paces_;
  // How much of r is left to each worker that has an allowance: at least 1.
  absl::btree_map<WorkerId, int64_t> allowances_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_DSSP_H_
