#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/time/time.h"
#include "common/check.h"
#include "common/overloaded.h"
#include "services/coordinator/sync/paradigms/policy_spec.h"
#include "services/coordinator/sync/paradigms/round_closing.h"

namespace paceline {
namespace {

// ABS-SGD (arXiv 2308.15164; only its abstract could be read: this is our
// reading, algorithms.md 5.16): a round takes one push of every member, of as
// much as the member has computed when the first one has done a whole batch (a
// push of less, of a tail that was dealt again, is just its part of the round);
// the others are then told to push what they have. Whoever has pushed goes on
// into the next round at once, on the weights without this one: the delay is
// always 1. Nobody enters the round after the next before this one is closed.
//
// Who joins, resumes, or comes from a plan older than the Adopt enters the
// newest round, and if that has its whole batch, is told at once to push what
// it will have: one micro-batch.
//
// Only the batch of a worker that is slower than the first one is cut:
// micro-batches cost time. Who took, uncut, longer by a piece after it was told
// to push is such a worker, until it pushes a whole batch in spite of being
// cut.
class AbsSgd final : public SyncPolicy {
 public:
  // Cuts a batch into at least `pieces` micro-batches.  REQUIRES: pieces >= 1.
  explicit AbsSgd(int pieces) : pieces_(pieces) { CHECK(pieces >= 1); }

  void Adopt(const SyncView& view, std::vector<Action>& actions) override {
    next_id_ = ToNumber(view.rounds().next());
    for (const WorkerId worker : view.waiting()) {
      EnterNewest(view, worker, actions);
    }
  }

  // Whoever pushes is released before its round is closed, so that the last one
  // too computes on the weights without it; who waited for the closing, after.
  void Apply(const SyncView& view, const Event& event,
             std::vector<Action>& actions) override {
    std::visit(
        Overloaded{
            [&](const Joined& e) { EnterNewest(view, e.worker, actions); },
            [&](const Resumed& e) { EnterNewest(view, e.worker, actions); },
            [&](const PushDone& e) {
              Judge(view.now(), e);
              Pushed(view, e, actions);
              CloseComplete(view, e.worker, actions);
            },
            [&](const Abandoned& e) {
              Remove(e.worker);
              EnterNewest(view, e.worker, actions);
              CloseComplete(view, e.worker, actions);
            },
            [&](const Left& e) {
              Remove(e.worker);
              members_.erase(e.worker);
              CloseComplete(view, e.worker, actions);
            },
            [&](const Idle& e) {
              Remove(e.worker);
              CloseComplete(view, e.worker, actions);
            },
            [](const auto&) {}},
        event);
  }

  std::string Describe() const override {
    return FormatParadigm(PlainParadigm{AbsSgdOptions{pieces_}});
  }

 private:
  struct Round {
    RoundId id{0};
    absl::btree_set<WorkerId> computing;
    // Somebody has pushed a whole batch: the others are told to push theirs.
    bool whole = false;
  };

  struct Member {
    bool slower = false;  // Than the first one of its rounds.
    bool cut = false;     // Its batch, of the present iteration.
    absl::Time released;
    absl::Time asked = absl::InfiniteFuture();  // In this iteration.
  };

  void EnterNewest(const SyncView& view, WorkerId worker,
                   std::vector<Action>& actions) {
    if (rounds_.empty()) {
      OpenFor(view, worker, actions);
      return;
    }
    Round& newest = rounds_.back();
    newest.computing.insert(worker);
    Member& member = members_[worker];
    member.cut = member.slower || newest.whole;
    member.released = view.now();
    member.asked = absl::InfiniteFuture();
    actions.push_back(
        Release{worker, PushPlan::Round(newest.id), member.cut ? pieces_ : 0});
    if (newest.whole) AskForPart(view.now(), worker, newest, actions);
  }

  void OpenFor(const SyncView& view, WorkerId worker,
               std::vector<Action>& actions) {
    rounds_.emplace_back().id = RoundId{next_id_++};
    EnterNewest(view, worker, actions);
  }

  // Says whether the batches of the worker shall be cut from now on.
  void Judge(absl::Time now, const PushDone& done) {
    const auto found = members_.find(done.worker);
    if (found == members_.end()) return;  // Its plan is older than the Adopt().
    Member& member = found->second;
    if (member.cut) {
      member.slower = done.share < 1;
    } else if (member.asked != absl::InfiniteFuture()) {
      member.slower = (now - member.asked) * pieces_ > now - member.released;
    }
  }

  void AskForPart(absl::Time now, WorkerId worker, const Round& round,
                  std::vector<Action>& actions) {
    members_[worker].asked = now;
    actions.push_back(Report{{DecisionKind::kAskedForPart, worker,
                              static_cast<int64_t>(ToNumber(round.id))}});
    actions.push_back(Refresh{worker});
  }

  void Pushed(const SyncView& view, const PushDone& done,
              std::vector<Action>& actions) {
    const WorkerId worker = done.worker;
    const auto found = std::find_if(rounds_.begin(), rounds_.end(),
                                    [worker](const Round& round) {
                                      return round.computing.contains(worker);
                                    });
    if (found == rounds_.end()) {
      // Its plan is older than the Adopt().
      EnterNewest(view, worker, actions);
      return;
    }
    const Round& oldest = rounds_.front();
    Round& own = *found;
    own.computing.erase(worker);
    if (done.share >= 1 && !std::exchange(own.whole, true)) {
      for (const WorkerId other : own.computing) {
        AskForPart(view.now(), other, own, actions);
      }
    }
    if (rounds_.size() == 1) {
      OpenFor(view, worker, actions);
    } else if (own.id == oldest.id) {
      EnterNewest(view, worker, actions);
    } else {
      waiting_.insert(worker);
      actions.push_back(
          Report{{DecisionKind::kWaitForClosing, worker,
                  static_cast<int64_t>(ToNumber(oldest.id)),
                  static_cast<int64_t>(oldest.computing.size())}});
    }
  }

  // Takes the worker out of everything: it computes and waits no more.
  void Remove(WorkerId worker) {
    waiting_.erase(worker);
    for (Round& round : rounds_) round.computing.erase(worker);
  }

  // Closes the rounds for which nobody computes any more. `cause` is whose
  // event it was.
  void CloseComplete(const SyncView& view, WorkerId cause,
                     std::vector<Action>& actions) {
    while (!rounds_.empty() && rounds_.front().computing.empty()) {
      CloseGathered(view, rounds_.front().id, cause, actions);
      rounds_.pop_front();
      const absl::btree_set<WorkerId> waited = std::exchange(waiting_, {});
      if (waited.empty()) continue;
      rounds_.emplace_back().id = RoundId{next_id_++};
      for (const WorkerId worker : waited) EnterNewest(view, worker, actions);
    }
  }

  const int pieces_;
  std::deque<Round> rounds_;  // The open ones: none, one or two.
  absl::btree_set<WorkerId>
      waiting_;  // They have pushed into the newer of two.
  absl::btree_map<WorkerId, Member> members_;  // Who was released here.
  uint64_t next_id_ = 0;  // It is free, and so is every greater one.
};

}  // namespace

std::unique_ptr<SyncPolicy> MakePolicy(const AbsSgdOptions& options) {
  return std::make_unique<AbsSgd>(options.pieces);
}

}  // namespace paceline
