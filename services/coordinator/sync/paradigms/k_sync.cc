#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/container/btree_set.h"
#include "common/check.h"
#include "common/overloaded.h"
#include "services/coordinator/sync/paradigms/adaptive_k.h"
#include "services/coordinator/sync/paradigms/policy_spec.h"
#include "services/coordinator/sync/paradigms/round_closing.h"

namespace paceline {
namespace {

// K-sync and K-batch-sync (Dutta et al., AISTATS 2018; algorithms.md 5.5), and
// backup workers (Chen et al. 2016; 5.4): a round takes the first gradients
// that are ready, all of the same version, and is applied as one update when
// they are pushed. Everybody else is told to drop the iteration and begins anew
// with the next round. A gradient that is ready too late is discarded; but its
// worker has been told to drop it, hears that first, and its samples are dealt
// again. They are used up only if it answers with its push all the same. K may
// grow as the loss falls (AdaptiveK).
//
// Our reading: who joins, resumes, or answers late takes part in the open round
// while that has room, but never makes it wait for more than it was opened for.
// Neither does a push under a plan older than the Adopt count for a round.
class KSync final : public SyncPolicy {
 public:
  // REQUIRES: k.k >= 1, for kBackup b >= 0.
  explicit KSync(const KSyncOptions& options)
      : options_(options), k_(options.k, UpdateTimeOf(options.mode)) {
    CHECK(options.k.k >= 1 && options.b >= 0);
  }

  void Adopt(const SyncView& view, std::vector<Action>& actions) override {
    next_id_ = ToNumber(view.rounds().next());
    OpenNext(view, actions);
  }

  // CloseRounds comes before the Releases into the next round.
  void Apply(const SyncView& view, const Event& event,
             std::vector<Action>& actions) override {
    std::visit(
        Overloaded{[&](const Joined& e) { GoOn(view, e.worker, actions); },
                   [&](const Resumed& e) { GoOn(view, e.worker, actions); },
                   [&](const GradientReady& e) { Plan(e, actions); },
                   [&](const PushDone& e) { End(view, e, actions); },
                   [&](const Abandoned& e) {
                     candidates_.erase(e.worker);
                     GoOn(view, e.worker, actions);
                   },
                   [&](const Left& e) { Remove(view, e.worker, actions); },
                   [&](const Idle& e) { Remove(view, e.worker, actions); },
                   [](const auto&) {}},
        event);
  }

  std::string Describe() const override {
    return FormatParadigm(PlainParadigm{options_});
  }
  PolicyView View() const override { return {.gathers_all = true}; }

 private:
  void Plan(const GradientReady& ready, std::vector<Action>& actions) {
    const WorkerId worker = ready.worker;
    if (candidates_.erase(worker) == 0) {
      actions.push_back(Report{{DecisionKind::kTooLate, worker}});
      actions.push_back(PlanPush{worker, PushPlan::Discard()});
      return;
    }
    pushing_.insert(worker);
    ++planned_;
    actions.push_back(Report{{DecisionKind::kGradientTaken, worker, planned_,
                              size_, ready.staleness}});
    actions.push_back(PlanPush{worker, PushPlan::Round(open_)});
    if (Full()) DropOthers(actions);
  }

  void End(const SyncView& view, const PushDone& done,
           std::vector<Action>& actions) {
    // No round takes its push, or it ended before its gradient was ready.
    const bool planned = pushing_.erase(done.worker) > 0;
    candidates_.erase(done.worker);
    if (planned && done.taken) k_.Pushed(done.loss);
    if (planned && done.taken && options_.mode != KSyncMode::kBatches) {
      Wait(view, done.worker, actions);  // Once a round.
      return;
    }
    if (planned && !done.taken) ReturnSlot();
    GoOn(view, done.worker, actions);
  }

  // The worker is out of everything, which may fill the round.
  void Remove(const SyncView& view, WorkerId worker,
              std::vector<Action>& actions) {
    candidates_.erase(worker);
    if (pushing_.erase(worker) > 0) ReturnSlot();
    if (!Full()) {
      Shrink(view);
      if (Full()) DropOthers(actions);
    }
    TurnIfComplete(view, worker, actions);
  }

  // The worker goes on in the open round, if that has room, or waits for the
  // next one.
  void GoOn(const SyncView& view, WorkerId worker,
            std::vector<Action>& actions) {
    if (Full()) {
      Wait(view, worker, actions);
      return;
    }
    candidates_.insert(worker);
    actions.push_back(Release{worker, PushPlan::Ask()});
  }

  void Wait(const SyncView& view, WorkerId worker,
            std::vector<Action>& actions) {
    if (Full() && pushing_.empty()) {
      TurnIfComplete(view, worker, actions);
      return;
    }
    const int64_t awaited =
        size_ - planned_ + static_cast<int64_t>(pushing_.size());
    actions.push_back(Report{{DecisionKind::kWaitForRound, worker,
                              static_cast<int64_t>(next_id_), awaited}});
  }

  // How many gradients the open round takes if `all` can contribute to it.
  int64_t SizeFor(int64_t all) const {
    switch (options_.mode) {
      case KSyncMode::kWorkers:
        return std::min(open_k_, all);
      case KSyncMode::kBatches:
        return open_k_;
      case KSyncMode::kBackup:
        return std::max<int64_t>(1, all - options_.b);
    }
    return all;
  }

  // A gradient that was planned into the open round does not come.
  void ReturnSlot() {
    // A full round has told the others to drop their iterations already: it
    // does with the gradients that it has.
    if (!Full()) --planned_;
  }

  // The open round waits for no more than can still come.
  void Shrink(const SyncView& view) {
    auto able = static_cast<int64_t>(view.computing());
    if (options_.mode != KSyncMode::kBatches) {
      able -= static_cast<int64_t>(pushing_.size());
    }
    size_ = able == 0 ? planned_ : std::min(size_, SizeFor(able + planned_));
  }

  bool Full() const { return planned_ >= size_; }
  void DropOthers(std::vector<Action>& actions) {
    for (const WorkerId worker : candidates_) {
      actions.push_back(
          Report{{DecisionKind::kSuperseded, worker,
                  static_cast<int64_t>(ToNumber(open_)), planned_}});
      actions.push_back(Abandon{worker});
    }
    candidates_.clear();
  }

  // Closes the open round, if it is complete, and opens the next one, if
  // anybody waits. `cause` is whose event it was.
  void TurnIfComplete(const SyncView& view, WorkerId cause,
                      std::vector<Action>& actions) {
    if (!Full() || !pushing_.empty()) return;
    CloseGathered(view, open_, cause, actions);
    planned_ = size_ = 0;
    OpenNext(view, actions);
  }

  void OpenNext(const SyncView& view, std::vector<Action>& actions) {
    if (view.waiting().empty()) return;
    open_ = RoundId{next_id_++};
    const auto all =
        static_cast<int64_t>(view.waiting().size() + view.computing());
    open_k_ = k_.Of(all);
    size_ = SizeFor(all);
    candidates_ = view.waiting();
    for (const WorkerId worker : candidates_) {
      actions.push_back(Release{worker, PushPlan::Ask()});
    }
  }

  static AdaptiveK::UpdateTime UpdateTimeOf(KSyncMode mode) {
    return mode == KSyncMode::kWorkers ? AdaptiveK::UpdateTime::kLastOfWorkers
                                       : AdaptiveK::UpdateTime::kInProportion;
  }

  const KSyncOptions options_;
  AdaptiveK k_;

  // A worker that computes and is in neither of these sets computes what no
  // round will take.
  absl::btree_set<WorkerId> candidates_;  // They compute for the open round.
  absl::btree_set<WorkerId> pushing_;     // They are planned into it.

  RoundId open_{0};       // The round that was opened last.
  uint64_t next_id_ = 0;  // This id and every greater one are free.
  int64_t open_k_ = 0;    // The K of the open round.
  int64_t size_ = 0;      // The number of gradients that the open round takes.
  int64_t planned_ = 0;   // The number of gradients planned into it.
};

}  // namespace

std::unique_ptr<SyncPolicy> MakePolicy(const KSyncOptions& options) {
  return std::make_unique<KSync>(options);
}

}  // namespace paceline
