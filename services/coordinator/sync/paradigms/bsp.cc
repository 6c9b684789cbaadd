#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/overloaded.h"
#include "services/coordinator/sync/paradigms/policy_spec.h"
#include "services/coordinator/sync/paradigms/round_closing.h"
#include "services/coordinator/sync/paradigms/stealing_bsp.h"

namespace paceline {
namespace {

// Bulk synchronous parallel (algorithms.md 5.1): a round takes one push of
// every member, is then applied as one update, and the next round begins.
//
// Who joins or resumes while a round is open takes part from the next one on
// and holds nobody up before. Who leaves or becomes idle is awaited no longer,
// which may complete the round. Pushes under plans older than the Adopt are
// awaited like others but belong to no round of this policy.
class Bsp final : public SyncPolicy {
 public:
  // Opens `next_round` for all who wait, also while others still compute.
  void Adopt(const SyncView& view, std::vector<Action>& actions) override {
    next_ = view.rounds().next();
    open_ = RoundId{0};
    OpenNext(view, actions);
  }

  // CloseRounds comes before the Releases into the next round. A round that has
  // gathered no push is not closed.
  void Apply(const SyncView& view, const Event& event,
             std::vector<Action>& actions) override {
    std::visit(
        Overloaded{[&](const Joined& e) { Wait(view, e.worker, actions); },
                   [&](const Resumed& e) { Wait(view, e.worker, actions); },
                   [&](const PushDone& e) { Wait(view, e.worker, actions); },
                   [&](const Abandoned& e) { Wait(view, e.worker, actions); },
                   [&](const Left& e) { Turn(view, e.worker, actions); },
                   [&](const Idle& e) { Turn(view, e.worker, actions); },
                   [](const auto&) {}},
        event);
  }

  std::optional<RoundId> ClosesNext() const override { return open_; }

  std::string Describe() const override { return "bsp"; }
  PolicyView View() const override {
    return {.threshold = 0, .gathers_all = true};
  }

 private:
  // The worker waits for the next round, which opens if nobody is awaited.
  void Wait(const SyncView& view, WorkerId worker,
            std::vector<Action>& actions) {
    if (view.computing() == 0) {
      Turn(view, worker, actions);
    } else {
      ReportWait(next_, static_cast<int64_t>(view.computing()), worker,
                 actions);
    }
  }

  // Does nothing while somebody is awaited. Otherwise closes the open round, if
  // it gathered a push, and opens the next one, if anybody waits. `cause` is
  // the worker of the event.
  void Turn(const SyncView& view, WorkerId cause,
            std::vector<Action>& actions) {
    if (view.computing() > 0) return;
    CloseGathered(view, open_, cause, actions);
    OpenNext(view, actions);
  }

  void OpenNext(const SyncView& view, std::vector<Action>& actions) {
    if (view.waiting().empty()) return;
    open_ = next_;
    next_ = RoundId{ToNumber(open_) + 1};
    for (const WorkerId worker : view.waiting()) {
      actions.push_back(Release{worker, PushPlan::Round(open_)});
    }
  }

  RoundId open_{0};  // The round that was opened last.
  RoundId next_{0};  // It is free, and so is every greater one.
};

}  // namespace

std::unique_ptr<SyncPolicy> MakePolicy(const BspOptions& options) {
  if (options.steal) return MakeStealingBsp(options);
  return std::make_unique<Bsp>();
}

}  // namespace paceline
