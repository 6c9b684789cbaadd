#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/time/time.h"
#include "common/check.h"
#include "common/overloaded.h"
#include "services/coordinator/sync/paradigms/dssp_controller.h"
#include "services/coordinator/sync/paradigms/gate.h"
#include "services/coordinator/sync/paradigms/policy_spec.h"

namespace paceline {
namespace {

// Table A of DSSP: the latest push and interval of every worker that counts,
// recorded at every push (D4), and who of them is the slowest. Every operation
// takes O(log workers). Thread-compatible.
class PaceTable {
 public:
  explicit PaceTable(IntervalKind kind) : kind_(kind) {}

  // A worker, of which nothing is known but perhaps its pace under another
  // policy.  REQUIRES: it is not in the table.
  void Add(WorkerId worker, WorkerClock clock,
           const std::optional<Pace>& pace = std::nullopt) {
    const auto [it, added] = rows_.emplace(worker, Row{.clock = clock});
    CHECK(added);
    if (pace.has_value()) {
      it->second.interval_ns = std::llround(pace->busy_s() * 1e9);
    }
    by_slowness_.insert(SlownessOf(worker, it->second));
  }

  // Forgets the worker, if it is in the table.
  void Remove(WorkerId worker) {
    const auto it = rows_.find(worker);
    if (it == rows_.end()) return;
    by_slowness_.erase(SlownessOf(worker, it->second));
    rows_.erase(it);
  }

  // The worker was released, or has pushed and now stands at `clock`.
  // REQUIRES: it is in the table; `now` never decreases.
  void Released(absl::Time now, WorkerId worker) {
    rows_.at(worker).released_ns = absl::ToUnixNanos(now);
  }
  void Pushed(absl::Time now, WorkerId worker, WorkerClock clock) {
    Row& row = rows_.at(worker);
    by_slowness_.erase(SlownessOf(worker, row));
    const int64_t now_ns = absl::ToUnixNanos(now);
    const std::optional<int64_t>& since =
        kind_ == IntervalKind::kPush ? row.last_push_ns : row.released_ns;
    if (since.has_value()) row.interval_ns = now_ns - *since;
    row.last_push_ns = now_ns;
    row.clock = clock;
    by_slowness_.insert(SlownessOf(worker, row));
  }

  // The worker's times; nothing before its first push and while its interval is
  // unknown, which is, if its pace was, before its second push, or for kBusy
  // before the first one that was released here.
  // REQUIRES: the worker is in the table.
  std::optional<PushTimes> Of(WorkerId worker) const {
    const Row& row = rows_.at(worker);
    if (!row.interval_ns.has_value() || !row.last_push_ns.has_value()) {
      return std::nullopt;
    }
    return PushTimes{.last_ns = *row.last_push_ns,
                     .interval_ns = *row.interval_ns};
  }

  // The slowest worker: among those with the smallest clock the one with the
  // largest interval, where an unknown interval is larger than all others; of
  // several the one with the lowest id (D5).
  // REQUIRES: the table is not empty.
  WorkerId Slowest() const { return std::get<WorkerId>(*by_slowness_.begin()); }

 private:
  struct Row {
    WorkerClock clock = 0;
    std::optional<int64_t> last_push_ns = std::nullopt;
    std::optional<int64_t> released_ns = std::nullopt;
    std::optional<int64_t> interval_ns = std::nullopt;
  };
  using Slowness = std::tuple<WorkerClock, int64_t, WorkerId>;

  static Slowness SlownessOf(WorkerId worker, const Row& row) {
    constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();
    return {row.clock, -row.interval_ns.value_or(kUnknown), worker};
  }

  IntervalKind kind_;
  std::map<WorkerId, Row> rows_;
  absl::btree_set<Slowness> by_slowness_;  // The slowest first.
};

// Who was stopped by the controller, and at whose next push each goes on. Every
// operation takes O(log workers), but for those who are taken.
// Thread-compatible.
class PushWaits {
 public:
  void Add(WorkerId waits, WorkerId slowest) {
    slowest_.emplace(waits, slowest);
    by_slowest_.emplace(slowest, waits);
  }
  void Remove(WorkerId waits) {
    const auto it = slowest_.find(waits);
    if (it == slowest_.end()) return;
    by_slowest_.erase({it->second, waits});
    slowest_.erase(it);
  }
  // Those who wait for that worker, by id; they wait no longer.
  std::vector<WorkerId> Take(WorkerId slowest) {
    std::vector<WorkerId> taken;
    auto it = by_slowest_.lower_bound({slowest, WorkerId{0}});
    while (it != by_slowest_.end() && it->first == slowest) {
      taken.push_back(it->second);
      slowest_.erase(it->second);
      it = by_slowest_.erase(it);
    }
    return taken;
  }

 private:
  absl::btree_map<WorkerId, WorkerId> slowest_;
  absl::btree_set<std::pair<WorkerId, WorkerId>> by_slowest_;
};

bool LetsGoOn(DecisionKind kind) {
  return kind == DecisionKind::kWithinBound ||
         kind == DecisionKind::kAllowanceUsed ||
         kind == DecisionKind::kAllowanceGranted;
}

// Dynamic stale synchronous parallel (Zhao, An, Liu, Chen, ICDCS 2019;
// algorithms.md 2 with the readings D1 to D14): pushes are applied as they
// arrive. A worker may go on at a gap of at most `lower`; beyond it, the
// fastest one gets as many further iterations as bring it to its best meeting
// with the slowest. One that is to stop there goes on at the slowest's next
// push; others wait until their gap is `lower` again.
//
// THE DEFAULT MODE DOES NOT ENFORCE THE UPPER BOUND; `bounded` does. Two of the
// defaults deviate from the pseudo-code, which is `printed`: it has everybody
// wait for the gap, where a single late push can cost a long wait, and calls
// the controller for the largest clock alone, so that equal workers that noise
// has driven apart wait for each other. Figure 2 of the paper has the former.
//
// An allowance is used up before anything else is asked, also when the gap has
// fallen to `lower` meanwhile (D13). Who becomes idle loses its allowance and
// its measured interval, for both belong to a pace that has ended.
class Dssp final : public SyncPolicy {
 public:
  // REQUIRES: 0 <= lower <= upper; fastest_within >= 0.
  explicit Dssp(const DsspOptions& options)
      : options_(options), gate_(options.lower), paces_(options.interval) {
    CHECK(0 <= options.lower && options.lower <= options.upper);
    CHECK(options.fastest_within >= 0);
  }

  void Adopt(const SyncView& view, std::vector<Action>& actions) override {
    view_ = &view;
    for (const auto& [worker, phase] : view.members()) {
      if (phase == SyncView::Phase::kIdle) continue;
      paces_.Add(worker, Clock(worker), view.PaceBefore(worker));
    }
    for (const WorkerId worker : view.waiting()) Decide(worker, actions);
  }

  // Releases the event's own worker first, then those who waited: for its push,
  // by id; and for their gap, by clock and then by id.
  void Apply(const SyncView& view, const Event& event,
             std::vector<Action>& actions) override {
    const auto enter = [&](WorkerId worker) {
      paces_.Add(worker, Clock(worker));
      Decide(worker, actions);
    };
    std::visit(
        Overloaded{[&](const Joined& e) { enter(e.worker); },
                   [&](const Resumed& e) { enter(e.worker); },
                   [&](const PushDone& e) {
                     paces_.Pushed(view.now(), e.worker, Clock(e.worker));
                     Decide(e.worker, actions);
                     ReleaseWaiting(e.worker, actions);
                   },
                   [&](const Left& e) { Forget(e.worker); },
                   [&](const Idle& e) { Forget(e.worker); },
                   [&](const Abandoned& e) { Decide(e.worker, actions); },
                   [](const auto&) {}},
        event);
    while (const std::optional<WorkerId> worker = gate_.TakeCaughtUp(view)) {
      GoOn({DecisionKind::kCaughtUp, *worker, view.clocks().Gap(*worker),
            options_.lower},
           actions);
    }
  }

  std::string Describe() const override {
    return FormatParadigm(PlainParadigm{options_});
  }

  PolicyView View() const override {
    // An allowance lets its worker go so much further than it is.
    int64_t most = options_.lower;
    for (const auto& [worker, left] : allowances_) {
      most = std::max(most, view_->clocks().Gap(worker) + left);
    }
    if (options_.mode == DsspMode::kBounded) {
      most = std::min(most, options_.upper);
    }
    return {.threshold = most};
  }

 private:
  // Releases the worker or holds it.
  void Decide(WorkerId worker, std::vector<Action>& actions) {
    const Decision decision = Judge(worker);
    if (LetsGoOn(decision.kind)) {
      GoOn(decision, actions);
    } else {
      gate_.Hold(*view_, worker);
      if (options_.release == DsspRelease::kNext &&
          (decision.kind == DecisionKind::kAllowanceRefused ||
           decision.kind == DecisionKind::kCapped)) {
        push_waits_.Add(worker, paces_.Slowest());
      }
      actions.push_back(Report{decision});
    }
  }

  // That worker has pushed.
  void ReleaseWaiting(WorkerId slowest, std::vector<Action>& actions) {
    for (const WorkerId worker : push_waits_.Take(slowest)) {
      const int64_t gap = view_->clocks().Gap(worker);
      if (options_.mode == DsspMode::kBounded && gap > options_.upper) {
        push_waits_.Add(worker, paces_.Slowest());
      } else if (gap > options_.lower && gate_.Take(*view_, worker)) {
        GoOn({DecisionKind::kSlowestPushed, worker, gap}, actions);
      }
    }
  }

  // Whether the worker may go on, by the kind of the decision; takes from its
  // allowance or grants it one.
  Decision Judge(WorkerId worker) {
    const int64_t gap = view_->clocks().Gap(worker);
    const bool capped =
        options_.mode == DsspMode::kBounded && gap > options_.upper;
    const auto allowance = allowances_.find(worker);
    if (allowance != allowances_.end() && !capped) {
      const int64_t left = allowance->second - 1;
      if (left > 0) {
        allowance->second = left;
      } else {
        allowances_.erase(allowance);
      }
      return {DecisionKind::kAllowanceUsed, worker, gap, left};
    }
    if (gap <= options_.lower) {
      return {DecisionKind::kWithinBound, worker, gap, options_.lower};
    }
    if (capped) return {DecisionKind::kCapped, worker, gap, options_.upper};
    return AskController(worker, gap);
  }

  // Judges a worker that is beyond the lower bound and has no allowance.
  Decision AskController(WorkerId worker, int64_t gap) {
    const int64_t behind = view_->clocks().Max() - Clock(worker);
    if (behind > options_.fastest_within) {
      return {DecisionKind::kNotFastest, worker, gap, behind};
    }
    const std::optional<PushTimes> fast = paces_.Of(worker);
    const std::optional<PushTimes> slow = paces_.Of(paces_.Slowest());
    if (!fast.has_value() || !slow.has_value()) {
      return {DecisionKind::kColdStart, worker, gap};
    }
    const Allowance chosen = ChooseAllowance(
        *fast, *slow, options_.upper - options_.lower, options_.rule);
    if (chosen.r == 0) {
      return {DecisionKind::kAllowanceRefused, worker, gap, 0};
    }
    int64_t granted = chosen.r;
    if (options_.mode == DsspMode::kBounded) {
      granted = std::min(granted, options_.upper - gap + 1);
    }
    // As printed, the release that comes with the grant costs nothing (D2).
    const int64_t kept =
        options_.mode == DsspMode::kPrinted ? granted : granted - 1;
    if (kept > 0) allowances_.emplace(worker, kept);
    return {DecisionKind::kAllowanceGranted, worker, gap, granted,
            chosen.distance_ns};
  }

  void GoOn(const Decision& why, std::vector<Action>& actions) {
    paces_.Released(view_->now(), why.worker);
    push_waits_.Remove(why.worker);
    actions.push_back(Report{why});
    actions.push_back(Release{why.worker, PushPlan::Immediate()});
  }

  // The worker counts no more: its pace and its allowance are void. Who waits
  // for its push waits for that of whoever is the slowest now.
  void Forget(WorkerId worker) {
    paces_.Remove(worker);
    allowances_.erase(worker);
    push_waits_.Remove(worker);
    for (const WorkerId waits : push_waits_.Take(worker)) {
      push_waits_.Add(waits, paces_.Slowest());
    }
  }

  WorkerClock Clock(WorkerId worker) const {
    return view_->clocks().Of(worker);
  }

  const DsspOptions options_;
  const SyncView* view_ = nullptr;  // Set by Adopt().
  Gate gate_;                       // Its bound is the lower one.
  PushWaits push_waits_;            // Of those whom it holds.
  PaceTable paces_;
  // How much of r is left to each worker that has an allowance: at least 1.
  absl::btree_map<WorkerId, int64_t> allowances_;
};

}  // namespace

std::unique_ptr<SyncPolicy> MakePolicy(const DsspOptions& options) {
  return std::make_unique<Dssp>(options);
}

}  // namespace paceline
