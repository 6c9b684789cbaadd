#include "services/coordinator/policy/dssp.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/check.h"
#include "common/overloaded.h"

namespace paceline {
namespace {

absl::string_view NameOf(DsspMode mode) {
  switch (mode) {
    case DsspMode::kPaper:
      return "paper";
    case DsspMode::kExact:
      return "exact";
    case DsspMode::kBounded:
      return "bounded";
  }
  return "";
}

bool LetsGoOn(DecisionKind kind) {
  return kind == DecisionKind::kWithinBound ||
         kind == DecisionKind::kAllowanceUsed ||
         kind == DecisionKind::kAllowanceGranted;
}

}  // namespace

Dssp::Dssp(const DsspOptions& options)
    : options_(options), gate_(options.lower), paces_(options.interval) {
  CHECK(0 <= options.lower && options.lower <= options.upper);
  CHECK(options.fastest_within >= 0);
}

void Dssp::Adopt(const Moment& at, absl::Span<const AdoptedWorker> workers,
                 RoundId /*next_round*/, std::vector<Action>& actions) {
  for (const AdoptedWorker& adopted : workers) {
    gate_.Join(adopted.worker);
    paces_.Add(adopted.worker, gate_.clocks().Of(adopted.worker));
  }
  for (const AdoptedWorker& adopted : workers) {
    if (adopted.phase == AdoptedWorker::Phase::kWaiting) {
      Decide(at.now, adopted.worker, actions);
    } else if (adopted.phase == AdoptedWorker::Phase::kIdle) {
      SetIdle(adopted.worker);
    }
  }
}

void Dssp::Apply(const Moment& at, const Event& event,
                 std::vector<Action>& actions) {
  std::visit(
      Overloaded{[&](const Joined& e) {
                   gate_.Join(e.worker);
                   paces_.Add(e.worker, gate_.clocks().Of(e.worker));
                   Decide(at.now, e.worker, actions);
                 },
                 [&](const Resumed& e) {
                   gate_.SetActive(e.worker);
                   paces_.Add(e.worker, gate_.clocks().Of(e.worker));
                   Decide(at.now, e.worker, actions);
                 },
                 [&](const PushDone& e) {
                   gate_.Advance(e.worker);
                   paces_.Pushed(at.now, e.worker, gate_.clocks().Of(e.worker));
                   Decide(at.now, e.worker, actions);
                 },
                 [&](const Left& e) {
                   SetIdle(e.worker);
                   gate_.Leave(e.worker);
                 },
                 [&](const Idle& e) { SetIdle(e.worker); },
                 [&](const Abandoned& e) { Decide(at.now, e.worker, actions); },
                 [](const auto&) {}},
      event);
  while (const std::optional<WorkerId> worker = gate_.TakeCaughtUp()) {
    GoOn(at.now,
         {DecisionKind::kCaughtUp, *worker, gate_.clocks().Gap(*worker),
          options_.lower},
         actions);
  }
}

void Dssp::Decide(absl::Time now, WorkerId worker,
                  std::vector<Action>& actions) {
  const Decision decision = Judge(worker);
  if (LetsGoOn(decision.kind)) {
    GoOn(now, decision, actions);
  } else {
    gate_.Hold(worker);
    actions.push_back(Report{decision});
  }
}

Decision Dssp::Judge(WorkerId worker) {
  const int64_t gap = gate_.clocks().Gap(worker);
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

Decision Dssp::AskController(WorkerId worker, int64_t gap) {
  const int64_t behind = gate_.clocks().Max() - gate_.clocks().Of(worker);
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
      options_.mode == DsspMode::kPaper ? granted : granted - 1;
  if (kept > 0) allowances_.emplace(worker, kept);
  return {DecisionKind::kAllowanceGranted, worker, gap, granted,
          chosen.distance_ns};
}

void Dssp::GoOn(absl::Time now, const Decision& why,
                std::vector<Action>& actions) {
  paces_.Released(now, why.worker);
  actions.push_back(Report{why});
  actions.push_back(Release{why.worker, PushPlan::Immediate()});
}

void Dssp::SetIdle(WorkerId worker) {
  gate_.SetIdle(worker);
  paces_.Remove(worker);
  allowances_.erase(worker);
}

PolicyView Dssp::View() const {
  // An allowance lets its worker go so much further than it is.
  int64_t most = options_.lower;
  for (const auto& [worker, left] : allowances_) {
    most = std::max(most, gate_.clocks().Gap(worker) + left);
  }
  if (options_.mode == DsspMode::kBounded) {
    most = std::min(most, options_.upper);
  }
  return {.threshold = most};
}

std::string Dssp::Describe() const {
  return absl::StrCat(
      "dssp:lower=", options_.lower, ",upper=", options_.upper,
      ",mode=", NameOf(options_.mode),
      ",interval=", options_.interval == IntervalKind::kPush ? "push" : "busy",
      ",rule=", options_.rule == PairRule::kAbsolute ? "abs" : "causal",
      ",fastest=",
      options_.fastest_within == 0
          ? "max"
          : absl::StrCat("within:", options_.fastest_within));
}

}  // namespace paceline
