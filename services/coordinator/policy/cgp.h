#ifndef PACELINE_SERVICES_COORDINATOR_POLICY_CGP_H_
#define PACELINE_SERVICES_COORDINATOR_POLICY_CGP_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "services/coordinator/policy/busy_times.h"
#include "services/coordinator/policy/cgp_accumulators.h"
#include "services/coordinator/policy/cgp_groups.h"
#include "services/coordinator/policy/cgp_regrouper.h"
#include "services/coordinator/policy/cgp_window.h"
#include "services/coordinator/policy/sync_policy.h"

namespace paceline {

// The parameters of algorithms.md 3.3.
struct CgpOptions {
  // Speed guarantee: predicted samples a second are at least this share of
  // ASP's. In [0, 1].
  double beta = 0.9;
  // How long a ready group waits for others at most, as a share of its period;
  // 0: only for those that are ready at the same instant. In [0, 10].
  double delta = 0.25;
  // Wait only if another group is predicted to be ready in that time.
  bool predictive = true;
  // A member is late so many periods after its round began; nothing: never. At
  // least 1.
  std::optional<double> patience = 1.5;
  int64_t warmup_rounds = 5;   // Of BSP, to measure. At least 1.
  double alpha = 0.3;          // BusyTimes.
  int64_t regroup_every = 50;  // Updates of groups; at least 1.
  // Regroup when a member is off its group's median by more; at least 0.
  double drift = 0.25;
  // A push counts 1 / (1 + staleness).
  bool inverse_weight = false;
  // No group's gradients are staler than that; nothing: no bound. At least 0.
  std::optional<int64_t> s_max = std::nullopt;
};

// CGP, cooperate grouping parallel (Li et al., FGCS 168, 2025; algorithms.md 3,
// where all but the idea is our reading, for the full text is not public): the
// workers are divided into groups of like pace, synchronous inside,
// asynchronous between each other. Groups that are ready at nearly the same
// time make one update (MERGE). A late member is not waited for: its push is
// adopted by the next update, whosever it is (HANDOVER).
//
// Beyond algorithms.md 3.5 it is decided here:
//   - A worker that comes back (late and adopted by another group's update,
//     resumed, moved by a regrouping) goes on with its group's next round, at
//     once if the group is at rest. So all members of a round have one version.
//   - A group that is overdue by more than delta is not predicted any more.
//   - A round has an accumulator of its own, so that a late push can be told
//     from the pushes of the group's later rounds. With more than
//     CgpAccumulators::kMax groups those of one worker push immediately
//     instead, and so does any group while all accumulators are in use. Such a
//     group does not wait for others: each push is an update already.
//   - s_max: while an update would take a group beyond it, ready groups wait
//     for that group, however long. A late push may be staler.
//   - Deadlines act on Tick alone, after the pushes of that instant. When
//     nobody computes there can be none, and a window closes at once.
class Cgp final : public SyncPolicy {
 public:
  explicit Cgp(const CgpOptions& options);

  void Adopt(const Moment& at, absl::Span<const AdoptedWorker> workers,
             RoundId next_round, std::vector<Action>& actions) override;

  // CloseRounds comes before the Releases that follow from it: those by group,
  // the oldest first, then by id.
  void Apply(const Moment& at, const Event& event,
             std::vector<Action>& actions) override;

  absl::Time NextDeadline() const override;
  std::string Describe() const override;
  PolicyView View() const override {
    return {.groups = static_cast<int64_t>(groups_.size())};
  }

 private:
  enum class State : uint8_t {
    kWaiting,   // In its group, for the next round.
    kAwaited,   // Computes, and its group waits for it.
    kFloating,  // Computes, and its group has gone on without it.
    kLate,      // Has pushed after that, and waits for an update to adopt it.
    kIdle,
  };
  struct Member {
    CgpGroupId group;
    std::optional<CgpGroupId> target = std::nullopt;  // Where it moves next.
    State state = State::kWaiting;
    // Of its open plan; none if that is no round of ours.
    std::optional<RoundId> accumulator = std::nullopt;
  };
  struct Step {
    absl::Time now;
    Version version;  // Closings of this step included.
    std::vector<Action>& actions;
  };

  void Join(Step& step, WorkerId worker);
  void Plan(Step& step, const GradientReady& ready);
  void Pushed(Step& step, const PushDone& done);
  void Dropped(Step& step, WorkerId worker);
  // The worker is out of its round, and of everything if it is gone.
  void Remove(Step& step, WorkerId worker, bool gone);
  void Tick(Step& step);
  // What must not wait for a Tick.
  void Settle(Step& step);

  // The iteration has ended. True if its push is in an accumulator.
  bool EndPlan(Member& member, bool gathered);
  void Arrive(Step& step, WorkerId worker, bool gathered);
  void ReportWait(Step& step, WorkerId worker);
  // The worker waits in its group; which that is.
  CgpGroupId Place(Step& step, WorkerId worker);
  // The same, and it goes on at once if the group is at rest.
  void Return(Step& step, WorkerId worker);

  // The group awaits nobody any more.
  void Ready(Step& step, CgpGroupId id);
  void OpenWindow(Step& step, CgpGroupId id);
  // An update now would take a running group beyond s_max.
  bool AtBound(const Step& step) const;
  void Float(Step& step, CgpGroupId id);
  // Makes the window's update.
  void CloseWindow(Step& step);
  // Of these groups, and of the late workers, all is applied: they go on.
  void GoOn(Step& step, const absl::btree_set<CgpGroupId>& ids);
  void Start(Step& step, CgpGroupId id);
  std::optional<RoundId> AccumulatorFor(const CgpGroup& group);
  absl::Duration PeriodOf(const absl::btree_set<WorkerId>& members) const;

  bool RegroupIsDue(bool warmup_round);
  void Regroup(Step& step);

  const CgpOptions options_;
  BusyTimes busy_;
  CgpRegrouper regrouper_;
  CgpAccumulators accumulators_;
  CgpGroups groups_;
  CgpWindow window_;
  absl::btree_map<WorkerId, Member> members_;
  absl::btree_set<WorkerId> late_;
  size_t floating_ = 0;
  CgpGroupId warmup_group_;
  int64_t warmup_left_;  // Rounds.
  bool held_ = false;    // The window, by s_max, when last looked at.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_POLICY_CGP_H_
