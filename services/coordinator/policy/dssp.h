#ifndef PACELINE_SERVICES_COORDINATOR_POLICY_DSSP_H_
#define PACELINE_SERVICES_COORDINATOR_POLICY_DSSP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "services/coordinator/policy/dssp_controller.h"
#include "services/coordinator/policy/gate.h"
#include "services/coordinator/policy/pace_table.h"
#include "services/coordinator/policy/sync_policy.h"

namespace paceline {

// What is done with an allowance r of the controller.
enum class DsspMode : uint8_t {
  // As the pseudo-code prints it: the release that comes with a grant uses
  // nothing of it, so r + 1 iterations follow. *Does not enforce the upper
  // bound*: a fastest worker that has used its allowance may get another one,
  // whatever its gap. Under lasting differences in speed it behaves like ASP.
  kPaper,
  // As the prose and the figures have it: r iterations follow. No upper bound
  // either.
  kExact,
  // kExact with the upper bound enforced: at a push the gap is at most
  // upper + 1. The only mode that the paper's theorem covers.
  kBounded,
};

struct DsspOptions {
  int64_t lower = 3;   // s_L: at this gap or less everybody may go on.
  int64_t upper = 15;  // s_U: allowances reach up to upper - lower.
  DsspMode mode = DsspMode::kPaper;
  IntervalKind interval = IntervalKind::kPush;
  PairRule rule = PairRule::kAbsolute;
  // The controller is called for workers whose clock is at most this far below
  // the largest: 0 as in the paper; more lets equal fast workers go on that
  // noise has driven apart.
  int64_t fastest_within = 0;
};

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

  void Adopt(const Moment& at, absl::Span<const AdoptedWorker> workers,
             RoundId next_round, std::vector<Action>& actions) override;

  // Releases the event's own worker first, then those who waited, by clock and
  // then by id.
  void Apply(const Moment& at, const Event& event,
             std::vector<Action>& actions) override;

  absl::Time NextDeadline() const override { return absl::InfiniteFuture(); }
  std::string Describe() const override;
  PolicyView View() const override;

 private:
  // Releases the worker or holds it.
  void Decide(absl::Time now, WorkerId worker, std::vector<Action>& actions);

  // Whether the worker may go on, by the kind of the decision; takes from its
  // allowance or grants it one.
  Decision Judge(WorkerId worker);
  // Beyond the lower bound and without an allowance.
  Decision AskController(WorkerId worker, int64_t gap);

  void GoOn(absl::Time now, const Decision& why, std::vector<Action>& actions);

  // Takes the worker out of every minimum and forgets its pace.
  void SetIdle(WorkerId worker);

  const DsspOptions options_;
  Gate gate_;  // At the lower bound.
  PaceTable paces_;
  // What is left of r, of those who have any: at least 1.
  absl::btree_map<WorkerId, int64_t> allowances_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_POLICY_DSSP_H_
