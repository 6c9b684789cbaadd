#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_CGP_CGP_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_CGP_CGP_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "common/job/paradigm_spec.h"
#include "services/coordinator/sync/core/sync_policy.h"
#include "services/coordinator/sync/paradigms/busy_times.h"
#include "services/coordinator/sync/paradigms/cgp/cgp_groups.h"
#include "services/coordinator/sync/paradigms/cgp/cgp_regrouper.h"
#include "services/coordinator/sync/paradigms/cgp/cgp_window.h"

namespace paceline {

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

  void Adopt(const SyncView& view, std::vector<Action>& actions) override;

  // CloseRounds comes before the Releases that follow from it: those by group,
  // the oldest first, then by id.
  void Apply(const SyncView& view, const Event& event,
             std::vector<Action>& actions) override;

  absl::Time NextDeadline() const override;
  std::string Describe() const override {
    return FormatParadigm(PlainParadigm{options_});
  }
  PolicyView View() const override {
    return {.groups = static_cast<int64_t>(groups_.size())};
  }

 private:
  enum class State : uint8_t {
    kWaiting,   // Waits in its group for the next round.
    kAwaited,   // Computes, and its group waits for it.
    kFloating,  // Computes, and its group has gone on without it.
    kLate,      // Has pushed after that, and waits for an update to adopt it.
    kIdle,
  };
  struct Member {
    CgpGroupId group;
    std::optional<CgpGroupId> target = std::nullopt;  // Where it moves next.
    State state = State::kWaiting;
    // The accumulator of its open plan; none if that is no round of ours.
    std::optional<RoundId> accumulator = std::nullopt;
  };
  struct Step {
    Step(const SyncView& seen, std::vector<Action>& wanted)
        : view(seen),
          now(seen.now()),
          version(seen.version()),
          free_rounds(seen.rounds().free()),
          actions(wanted) {}

    const SyncView& view;
    absl::Time now;
    Version version;      // Closings of this step are counted in it.
    int64_t free_rounds;  // How many of them this step has left.
    std::vector<Action>& actions;
  };

  void Join(Step& step, WorkerId worker);
  void Plan(Step& step, const GradientReady& ready);
  void Pushed(Step& step, const PushDone& done);
  void Dropped(Step& step, WorkerId worker);
  // The worker is out of its round, and of everything if it is gone.
  void Remove(Step& step, WorkerId worker, bool gone);
  void Tick(Step& step);
  // Does what must not wait for a Tick.
  void Settle(Step& step);

  // Ends the plan of the iteration; true if it was for an accumulator.
  static bool EndPlan(Member& member);
  void Arrive(Step& step, WorkerId worker, bool gathered);
  void ReportWait(Step& step, WorkerId worker);
  // Lets the worker wait in its group, and gives that group.
  CgpGroupId Place(Step& step, WorkerId worker);
  // Places the worker, and lets it go on at once if the group is at rest.
  void Return(Step& step, WorkerId worker);

  // The group awaits nobody any more.
  void Ready(Step& step, CgpGroupId id);
  void OpenWindow(Step& step, CgpGroupId id);
  // Whether an update now would take a running group beyond s_max.
  bool AtBound(const Step& step) const;
  void Float(Step& step, CgpGroupId id);
  // Makes the window's update.
  void CloseWindow(Step& step);
  // Lets these groups and the late workers go on: all of theirs is applied.
  void GoOn(Step& step, const absl::btree_set<CgpGroupId>& ids);
  void Start(Step& step, CgpGroupId id);
  std::optional<RoundId> AccumulatorFor(Step& step, const CgpGroup& group);
  absl::Duration PeriodOf(const absl::btree_set<WorkerId>& members) const;

  bool RegroupIsDue(bool warmup_round);
  void Regroup(Step& step);

  const CgpOptions options_;
  BusyTimes busy_;
  CgpRegrouper regrouper_;
  CgpGroups groups_;
  CgpWindow window_;
  absl::btree_map<WorkerId, Member> members_;
  absl::btree_set<WorkerId> late_;
  absl::btree_set<RoundId> late_rounds_;  // The rounds with late_'s pushes.
  uint64_t next_round_ = 0;  // It is free, and so is every greater one.
  size_t floating_ = 0;
  CgpGroupId warmup_group_;
  int64_t warmup_left_;  // The number of rounds of the warm-up to come.
  bool held_ = false;    // At the last look s_max kept the window open.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_CGP_CGP_H_
