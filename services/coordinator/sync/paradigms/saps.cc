#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/btree_set.h"
#include "common/overloaded.h"
#include "services/coordinator/sync/paradigms/policy_spec.h"

namespace paceline {
namespace {

constexpr int64_t kFreshPushes = 5;

int64_t Millionths(double weight) {
  return static_cast<int64_t>(weight * 1e6 + 0.5);
}

// Straggler-aware parameter server (Yu et al., HPCC 2019; only its abstract
// could be read: this is our reading, algorithms.md 4.2). Asynchronous, nobody
// waits; stragglers are told by the version of their parameters, and their
// staleness is limited in one of three ways.
//
// A worker whose lag reaches s is a straggler, until 5 pushes in a row came
// with at most s / 2. s is at least 1. Idle workers count as live here: they
// come back.
//
// Only a straggler's batch is cut for a refresh: micro-batches cost time, and
// the others are not refreshed. One that first comes to lag is told, too, and
// pushes what its job cuts, as a rule the whole batch.
//
// With `sync_every` there is a barrier after so many updates: whoever has
// pushed waits until all have, and all go on from the same version. That is
// what the abstracts of the same group's later work say, SAP-SGD (CLUSTER 2021)
// and Heter-Train (T-ITS 2024).
class Saps final : public SyncPolicy {
 public:
  // REQUIRES: s >= 1, s_max >= s, micro_batches >= 1, starve_limit >= 1.
  explicit Saps(const SapsOptions& options) : options_(options) {}

  void Adopt(const SyncView& view, std::vector<Action>& actions) override {
    met_ = view.version();
    for (const auto& [worker, phase] : view.members()) {
      if (phase == SyncView::Phase::kWaiting) {
        GoOn(view, worker, actions);
      } else if (phase == SyncView::Phase::kComputing) {
        // Since when is not known; its lag counts from here.
        members_[worker].base = view.version();
        watched_.emplace(view.version(), worker);
      }
    }
  }

  // Releases the event's own worker first, then refreshes those who have come
  // to lag, the longest behind first.
  void Apply(const SyncView& view, const Event& event,
             std::vector<Action>& actions) override {
    std::visit(
        Overloaded{
            [&](const Joined& e) { GoOn(view, e.worker, actions); },
            [&](const Resumed& e) { GoOn(view, e.worker, actions); },
            [&](const Abandoned& e) {
              StopWatching(e.worker);
              GoOn(view, e.worker, actions);
            },
            [&](const GradientReady& e) { PlanPushOf(view, e, actions); },
            [&](const PushDone& e) {
              StopWatching(e.worker);
              if (options_.mode == SapsMode::kRefresh) {
                // The version counts its own update already.
                const Version own = e.taken ? 1 : 0;
                const Version lag =
                    view.version() - own - members_[e.worker].base;
                // A push under a plan for a round may show -1.
                Judge(view, e.worker, std::max<int64_t>(0, lag), actions);
              }
              GoOn(view, e.worker, actions);
            },
            [&](const Left& e) {
              StopWatching(e.worker);
              members_.erase(e.worker);
              MeetIfAllAreThere(view, actions);
            },
            [&](const Idle& e) {
              StopWatching(e.worker);
              MeetIfAllAreThere(view, actions);
            },
            [](const auto&) {}},
        event);
    // The version counts that worker's push already, but it was not told of.
    if (std::holds_alternative<Flagged>(event)) return;
    if (options_.mode == SapsMode::kRefresh) RefreshLagging(view, actions);
  }

  std::string Describe() const override {
    return FormatParadigm(PlainParadigm{options_});
  }

 private:
  struct Member {
    Version base = 0;  // The version that it computes on, while it does.
    bool straggler = false;
    int64_t fresh_pushes = 0;  // How many a straggler has made in a row.
    int64_t drops = 0;         // How many pushes in a row were discarded.
  };

  int64_t S(const SyncView& view) const {
    if (options_.s.has_value()) return *options_.s;
    const auto peers = static_cast<int64_t>(view.members().size()) - 1;
    const int64_t usual = std::max<int64_t>(1, 2 * peers);
    return std::min(usual, options_.s_max.value_or(usual));
  }

  int64_t SMax(const SyncView& view) const {
    return options_.s_max.value_or(3 * S(view));
  }

  // The worker goes on, unless the barrier is due.
  void GoOn(const SyncView& view, WorkerId worker,
            std::vector<Action>& actions) {
    if (!BarrierIsDue(view)) return Compute(view, worker, actions);
    if (view.computing() > 0) {
      actions.push_back(Report{{DecisionKind::kQuotaUsed, worker,
                                static_cast<int64_t>(view.computing())}});
    }
    MeetIfAllAreThere(view, actions);
  }

  bool BarrierIsDue(const SyncView& view) const {
    return options_.sync_every.has_value() &&
           view.version() - met_ >= *options_.sync_every;
  }

  void MeetIfAllAreThere(const SyncView& view, std::vector<Action>& actions) {
    if (!BarrierIsDue(view) || view.computing() > 0) return;
    met_ = view.version();
    for (const WorkerId worker : view.waiting()) Compute(view, worker, actions);
  }

  void Compute(const SyncView& view, WorkerId worker,
               std::vector<Action>& actions) {
    members_[worker].base = view.version();
    if (options_.mode == SapsMode::kRefresh) {
      watched_.emplace(view.version(), worker);
      actions.push_back(
          Release{worker, PushPlan::Immediate(),
                  members_[worker].straggler ? options_.micro_batches : 0});
    } else {
      actions.push_back(Release{worker, PushPlan::Ask()});
    }
  }

  void StopWatching(WorkerId worker) {
    watched_.erase({members_[worker].base, worker});
  }

  // Refreshes everybody whose lag has reached s.
  void RefreshLagging(const SyncView& view, std::vector<Action>& actions) {
    const int64_t s = S(view);
    while (!watched_.empty() && view.version() - watched_.begin()->first >= s) {
      const auto [base, worker] = *watched_.begin();
      const Version lag = view.version() - base;
      watched_.erase(watched_.begin());
      Judge(view, worker, lag, actions);
      actions.push_back(Report{{DecisionKind::kRefreshed, worker, lag, s}});
      actions.push_back(Refresh{worker});
    }
  }

  // Marks the worker by the lag of its push.
  void Judge(const SyncView& view, WorkerId worker, int64_t lag,
             std::vector<Action>& actions) {
    Member& member = members_[worker];
    const int64_t s = S(view);
    if (lag >= s) {
      member.fresh_pushes = 0;
      if (member.straggler) return;
      member.straggler = true;
      actions.push_back(Report{{DecisionKind::kLags, worker, lag, s}});
    } else if (member.straggler) {
      member.fresh_pushes = 2 * lag <= s ? member.fresh_pushes + 1 : 0;
      if (member.fresh_pushes < kFreshPushes) return;
      member.straggler = false;
      actions.push_back(Report{{DecisionKind::kLagsNoMore, worker, lag, s}});
    }
  }

  void PlanPushOf(const SyncView& view, const GradientReady& ready,
                  std::vector<Action>& actions) {
    Judge(view, ready.worker, ready.staleness, actions);
    const bool damps = options_.mode == SapsMode::kDamp;
    const PushPlan plan = damps
                              ? Damped(view, ready.staleness)
                              : OrDropped(view, ready.worker, ready.staleness);
    if (plan.kind == PushPlan::Kind::kDiscard) {
      const int64_t limit = damps ? SMax(view) : S(view);
      actions.push_back(Report{
          {DecisionKind::kTooStale, ready.worker, ready.staleness, limit}});
    } else if (plan.weight < 1) {
      actions.push_back(Report{{DecisionKind::kWeighed, ready.worker,
                                ready.staleness, Millionths(plan.weight)}});
    }
    actions.push_back(PlanPush{ready.worker, plan});
  }

  PushPlan Damped(const SyncView& view, int64_t staleness) const {
    const int64_t s = S(view);
    if (staleness <= s) return PushPlan::Immediate();
    if (staleness > SMax(view)) return PushPlan::Discard();
    return PushPlan::Immediate(static_cast<double>(s) /
                               static_cast<double>(staleness));
  }

  PushPlan OrDropped(const SyncView& view, WorkerId worker, int64_t staleness) {
    Member& member = members_[worker];
    const int64_t s = S(view);
    if (staleness > s && ++member.drops <= options_.starve_limit) {
      return PushPlan::Discard();
    }
    member.drops = 0;
    if (staleness <= s) return PushPlan::Immediate();
    return PushPlan::Immediate(static_cast<double>(s) /
                               static_cast<double>(staleness));
  }

  const SapsOptions options_;
  Version met_ = 0;  // The version of the last barrier.
  std::map<WorkerId, Member> members_;
  // The workers that compute and have not been refreshed, the longest behind
  // first.
  absl::btree_set<std::pair<Version, WorkerId>> watched_;
};

}  // namespace

std::unique_ptr<SyncPolicy> MakePolicy(const SapsOptions& options) {
  return std::make_unique<Saps>(options);
}

}  // namespace paceline
