#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "common/check.h"
#include "common/overloaded.h"
#include "services/coordinator/sync/paradigms/adaptive_k.h"
#include "services/coordinator/sync/paradigms/policy_spec.h"
#include "services/coordinator/sync/paradigms/round_closing.h"

namespace paceline {
namespace {

// K-async and K-batch-async (Dutta et al., AISTATS 2018; algorithms.md 5.5): a
// round takes the next K gradients that are ready, of whatever version, and is
// applied as one update when they are pushed. Nobody is told to drop anything.
// K = 1 paces like ASP, K-async with K = workers like BSP. K may grow as the
// loss falls (AdaptiveK).
//
// Our reading: when a round has its K, the next one begins to fill, also while
// they are pushed. While the servers have no more rounds to give, the newest
// one takes more than K. A round that nobody is left to complete does with what
// it has. Who joins takes part at once, but makes no round wait for more than
// it began for.
class KAsync final : public SyncPolicy {
 public:
  // REQUIRES: k.k >= 1.
  explicit KAsync(const KAsyncOptions& options)
      : options_(options), k_(options.k, AdaptiveK::UpdateTime::kInProportion) {
    CHECK(options.k.k >= 1);
  }

  void Adopt(const SyncView& view, std::vector<Action>& actions) override {
    next_id_ = ToNumber(view.rounds().next());
    for (const WorkerId worker : view.waiting()) GoOn(worker, actions);
  }

  // CloseRounds comes before the Releases that follow from it.
  void Apply(const SyncView& view, const Event& event,
             std::vector<Action>& actions) override {
    std::visit(
        Overloaded{
            [&](const Joined& e) { GoOn(e.worker, actions); },
            [&](const Resumed& e) { GoOn(e.worker, actions); },
            [&](const GradientReady& e) { Plan(view, e, actions); },
            [&](const PushDone& e) {
              k_.Pushed(e.loss);
              End(view, e.worker, e.taken, actions);
            },
            [&](const Abandoned& e) { End(view, e.worker, false, actions); },
            [&](const Left& e) { Remove(view, e.worker, actions); },
            [&](const Idle& e) { Remove(view, e.worker, actions); },
            [](const auto&) {}},
        event);
  }

  std::string Describe() const override {
    return FormatParadigm(PlainParadigm{options_});
  }

 private:
  struct Round {
    int64_t size = 0;     // The number of gradients that it takes.
    int64_t planned = 0;  // The number of gradients planned into it.
    int64_t pushing = 0;  // The planned ones whose pushes are not done.
    // Workers that have pushed into it and wait for its closing (kWorkers).
    absl::btree_set<WorkerId> waiting;

    bool full() const { return planned >= size; }
  };
  using Rounds = absl::btree_map<RoundId, Round>;

  // Makes the worker compute.
  static void GoOn(WorkerId worker, std::vector<Action>& actions) {
    actions.push_back(Release{worker, PushPlan::Ask()});
  }

  // How many members are not idle.
  static int64_t Active(const SyncView& view) {
    return static_cast<int64_t>(view.computing() + view.waiting().size());
  }

  void Plan(const SyncView& view, const GradientReady& ready,
            std::vector<Action>& actions) {
    const auto filling = Filling(view);
    auto& [id, round] = *filling;
    CHECK(plans_.emplace(ready.worker, id).second);
    ++round.planned;
    ++round.pushing;
    actions.push_back(Report{{DecisionKind::kGradientTaken, ready.worker,
                              round.planned, round.size, ready.staleness}});
    actions.push_back(PlanPush{ready.worker, PushPlan::Round(id)});
  }

  // The round into which the next gradient goes.
  Rounds::iterator Filling(const SyncView& view) {
    if (!rounds_.empty()) {
      const auto newest = std::prev(rounds_.end());
      if (!newest->second.full() || view.rounds().free() <= 0) return newest;
    }
    int64_t size = k_.Of(Active(view));
    if (options_.mode == KAsyncMode::kWorkers)
      size = std::min(size, Active(view));
    const auto filling = rounds_.try_emplace(RoundId{next_id_++}).first;
    filling->second.size = size;
    return filling;
  }

  // The worker's iteration has ended; `pushed` if the servers have it.
  void End(const SyncView& view, WorkerId worker, bool pushed,
           std::vector<Action>& actions) {
    const auto round = TakePlan(worker, pushed);
    if (round == rounds_.end()) {
      GoOn(worker, actions);  // A plan of an earlier policy, or none.
      return;
    }
    const bool waits = pushed && options_.mode == KAsyncMode::kWorkers;
    if (waits) {
      plans_.emplace(worker, round->first);
      round->second.waiting.insert(worker);
      ReportWait(worker, round, actions);
    }
    CloseIfComplete(view, round, worker, actions);
    // On the new weights, if it was the last one.
    if (!waits) GoOn(worker, actions);
  }

  void Remove(const SyncView& view, WorkerId worker,
              std::vector<Action>& actions) {
    const auto round = TakePlan(worker, /*pushed=*/false);
    const RoundId id = round == rounds_.end() ? RoundId{0} : round->first;
    Shrink(view);
    if (round != rounds_.end()) CloseIfComplete(view, round, worker, actions);
    // The newest may have shrunk.
    if (!rounds_.empty() && std::prev(rounds_.end())->first != id) {
      CloseIfComplete(view, std::prev(rounds_.end()), worker, actions);
    }
  }

  // Takes the worker out of its round and gives that round, or rounds_.end() if
  // the worker had no plan. `pushed` says whether it has pushed into the round.
  Rounds::iterator TakePlan(WorkerId worker, bool pushed) {
    const auto node = plans_.extract(worker);
    if (node.empty()) return rounds_.end();
    const auto it = rounds_.find(node.mapped());
    Round& round = it->second;
    if (round.waiting.erase(worker) > 0) return it;
    --round.pushing;
    // The gradient does not come: another may, while there is room.
    if (!pushed && !round.full()) --round.planned;
    return it;
  }

  // The newest round waits for no more than can still come.
  void Shrink(const SyncView& view) {
    if (rounds_.empty()) return;
    Round& newest = std::prev(rounds_.end())->second;
    if (newest.full()) return;
    int64_t able = Active(view);
    if (options_.mode == KAsyncMode::kWorkers) {
      // Those in it wait until it is closed.
      able -= newest.pushing + static_cast<int64_t>(newest.waiting.size());
      newest.size = std::min(newest.size, newest.planned + able);
    } else if (able == 0) {
      newest.size = newest.planned;
    }
  }

  void CloseIfComplete(const SyncView& view, Rounds::iterator it,
                       WorkerId cause, std::vector<Action>& actions) {
    const Round& round = it->second;
    if (!round.full() || round.pushing > 0) return;
    CloseGathered(view, it->first, cause, actions);
    const absl::btree_set<WorkerId> waited = std::move(it->second.waiting);
    rounds_.erase(it);
    for (const WorkerId worker : waited) {
      plans_.erase(worker);
      GoOn(worker, actions);
    }
  }

  void ReportWait(WorkerId worker, Rounds::const_iterator it,
                  std::vector<Action>& actions) const {
    const Round& round = it->second;
    const int64_t awaited =
        std::max<int64_t>(0, round.size - round.planned) + round.pushing;
    if (awaited == 0) return;
    actions.push_back(
        Report{{DecisionKind::kWaitForClosing, worker,
                static_cast<int64_t>(ToNumber(it->first)), awaited}});
  }

  const KAsyncOptions options_;
  AdaptiveK k_;

  // Maps a worker to the round into which it pushes or whose closing it awaits.
  absl::btree_map<WorkerId, RoundId> plans_;
  Rounds rounds_;         // The open rounds; all but the newest are full.
  uint64_t next_id_ = 0;  // This id and every greater one are free.
};

}  // namespace

std::unique_ptr<SyncPolicy> MakePolicy(const KAsyncOptions& options) {
  return std::make_unique<KAsync>(options);
}

}  // namespace paceline
