#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_CORE_SYNC_VIEW_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_CORE_SYNC_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/time/time.h"
#include "services/coordinator/sync/core/clocks.h"
#include "services/coordinator/sync/core/round_ledger.h"
#include "services/coordinator/sync/core/types.h"

namespace paceline {

// An event is one thing that a SyncPolicy is told. A worker is *computing* from
// its Release to its PushDone or Abandoned, then *waiting* until the next
// Release; or it is *idle*: still a member, but out of every minimum and round
// because nothing is left to deal.

// A new member, waiting for its first release. It takes part at the level of
// the slowest: a join must not stall the others.
struct Joined {
  WorkerId worker;
};

// The member is gone, whatever it was doing. Its id never comes back.
struct Left {
  WorkerId worker;
};

// The worker's last Release could not be followed for want of samples. It
// computes nothing and has pushed nothing since its last PushDone.
struct Idle {
  WorkerId worker;
};

// Samples came back, and the idle worker waits for a release again.
struct Resumed {
  WorkerId worker;
};

// The gradient of an iteration that was released with PushPlan::Ask() is
// computed. Before Apply() returns, the policy plans this worker's push, or
// extends the iteration. One that an earlier policy released is planned by the
// core.
struct GradientReady {
  WorkerId worker;
  int64_t staleness = 0;  // Updates since the version of its grant.
  uint32_t samples = 0;   // Of all of the iteration.
};

// The iteration that the last Release permitted has ended, and its push, if
// there was one, is taken by every server. The worker now waits.
struct PushDone {
  WorkerId worker;
  // The share of its usual range that the worker has computed: less than 1 for
  // a short range or a part of one, 0 if it broke off.
  double share = 1;
  // Whether the servers have the push. If not, it was discarded by its plan or
  // for a loss that is not finite, or no samples were left to push: then no
  // round has gathered it, and no version has come of it.
  bool taken = true;
  // The mean training loss of its samples, finite; nothing if the servers do
  // not have the push, or if the worker does not say.
  std::optional<double> loss = std::nullopt;
};

// The iteration that the last Release permitted was dropped, its samples are
// dealt again. The worker now waits. This event follows an Abandon, unless the
// push was already on its way: then PushDone comes.
struct Abandoned {
  WorkerId worker;
};

// The worker's flag is raised, or cleared (StragglerDetector): at once, and not
// only when that has lasted. It comes before the PushDone that showed it.
struct Flagged {
  WorkerId worker;
  bool straggler = false;
};

// NextDeadline() has been reached.
struct Tick {};

using Event = std::variant<Joined, Left, Idle, Resumed, GradientReady, PushDone,
                           Abandoned, Flagged, Tick>;

// A job as its policy sees it: how far it is, what each member does, the
// members' clocks, and what the rounds have gathered. The core keeps it, and a
// policy reads it instead of keeping books of its own.
//
// The view shows what members do as far as the policy has been told: an event
// changes the view just before the policy is given it. So a worker that is lost
// together with others is still shown while the policy is told of the first of
// them. A released worker is shown as computing from the moment of its release,
// even if there turn out to be no samples for it and Idle follows. The version
// and the samples include the event's own push; closings that the event causes
// are not in them yet.
//
// Thread-compatible.
class SyncView {
 public:
  enum class Phase : uint8_t { kWaiting, kComputing, kIdle };
  using Members = absl::btree_map<WorkerId, Phase>;

  explicit SyncView(int acknowledging_servers = 0, uint32_t batch_size = 1)
      : batch_size_(batch_size), rounds_(acknowledging_servers) {}

  uint32_t batch_size() const { return batch_size_; }

  absl::Time now() const { return now_; }
  Version version() const { return version_; }
  int64_t samples_counted() const { return samples_counted_; }
  int64_t samples_total() const { return samples_total_; }

  // All members, by id.
  const Members& members() const { return members_; }
  bool Contains(WorkerId worker) const { return members_.contains(worker); }
  // REQUIRES: the worker is a member.
  Phase PhaseOf(WorkerId worker) const { return members_.at(worker); }
  const absl::btree_set<WorkerId>& waiting() const { return waiting_; }
  // How many members compute.
  size_t computing() const { return computing_; }
  // Members that are flagged as stragglers.
  const absl::btree_set<WorkerId>& stragglers() const { return stragglers_; }
  const Clocks& clocks() const { return clocks_; }
  const RoundLedger& rounds() const { return rounds_; }
  // What was known of the member's pace when the policy took over; nothing if
  // it had not been measured then. So a policy need not begin anew.
  std::optional<Pace> PaceBefore(WorkerId worker) const;

  // The core's side.

  void SetProgress(absl::Time now, Version version, int64_t samples_counted,
                   int64_t samples_total);
  // A member of the beginning, which waits.
  void Add(WorkerId worker);
  // The policy is about to be told of the event.
  void Tell(const Event& event);
  // The policy has released the worker.  REQUIRES: the worker waits.
  void Release(WorkerId worker);
  // The release is taken back: the worker waits as if it had not been released.
  void TakeBack(WorkerId worker);
  // The released worker begins to compute. Newcomers count from the round into
  // which they are released, and otherwise from where they stand.
  void Begin(WorkerId worker, const PushPlan& plan);
  // The released worker gets no samples.
  void FindNothing(WorkerId worker) { newcomers_.erase(worker); }
  // Another policy takes over, to whom these paces are known: all clocks count
  // as equal.
  using Paces = absl::btree_map<WorkerId, Pace>;
  void BeginTerm(Paces paces);

  RoundLedger& mutable_rounds() { return rounds_; }

 private:
  void Enter(WorkerId worker);
  // The member's phase is no longer the one that it has.
  void LeavePhase(WorkerId worker, Phase phase);

  const uint32_t batch_size_;
  absl::Time now_;
  Version version_ = 0;
  int64_t samples_counted_ = 0;
  int64_t samples_total_ = 0;

  Members members_;
  absl::btree_set<WorkerId> waiting_;
  size_t computing_ = 0;
  absl::btree_set<WorkerId> stragglers_;
  Clocks clocks_;
  // These members wait since they joined, were resumed, or have dropped an
  // iteration; they count in `clocks_` meanwhile.
  absl::btree_set<WorkerId> newcomers_;
  Paces paces_;
  RoundLedger rounds_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_CORE_SYNC_VIEW_H_
