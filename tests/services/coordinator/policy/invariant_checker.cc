#include "tests/services/coordinator/policy/invariant_checker.h"

#include <algorithm>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/overloaded.h"

namespace paceline {
namespace {

using Phase = AdoptedWorker::Phase;

}  // namespace

void InvariantChecker::Adopted(absl::Span<const AdoptedWorker> workers) {
  for (const AdoptedWorker& adopted : workers) {
    members_[adopted.worker] = Member{.phase = adopted.phase,
                                      .counts = adopted.phase != Phase::kIdle,
                                      .round = std::nullopt};
  }
}

void InvariantChecker::Happened(const Event& event) {
  last_min_ = Min().value_or(last_min_);
  const auto enter = [this](WorkerId worker) {
    Member& member = members_[worker];
    member.phase = Phase::kWaiting;
    member.counts = false;
    if (!options_.counts_from_release) Count(member);
  };
  std::visit(Overloaded{[&](const Joined& e) { enter(e.worker); },
                        [&](const Resumed& e) { enter(e.worker); },
                        [&](const PushDone& e) { Push(e.worker); },
                        [&](const Left& e) { members_.erase(e.worker); },
                        [&](const Idle& e) {
                          members_.at(e.worker).phase = Phase::kIdle;
                          members_.at(e.worker).counts = false;
                        },
                        [](const auto&) {}},
             event);
}

void InvariantChecker::Push(WorkerId worker) {
  Member& member = members_.at(worker);
  member.phase = Phase::kWaiting;
  ++member.clock;
  ++member.pushes;
  if (member.round.has_value()) ++open_pushes_[*member.round];
  member.round.reset();
  const int64_t gap = member.clock - *Min();
  if (options_.max_gap.has_value()) {
    Require(gap <= *options_.max_gap, absl::StrCat("gap ", gap), worker);
  }
}

void InvariantChecker::Performed(const Action& action) {
  std::visit(Overloaded{[&](const Release& a) {
                          const auto it = members_.find(a.worker);
                          Require(it != members_.end(), "release of a stranger",
                                  a.worker);
                          if (it == members_.end()) return;
                          Require(it->second.phase == Phase::kWaiting,
                                  "release of one who does not wait", a.worker);
                          it->second.phase = Phase::kComputing;
                          if (!it->second.counts) Count(it->second);
                          if (a.plan.kind != PushPlan::Kind::kRound) return;
                          Require(a.plan.round > last_closed_,
                                  "release into a closed round", a.worker);
                          it->second.round = a.plan.round;
                        },
                        [&](const CloseRounds& a) {
                          for (const RoundId round : a.rounds) {
                            Require(open_pushes_.erase(round) == 1,
                                    "closing of an empty round", WorkerId{0});
                            last_closed_ = std::max(last_closed_, round);
                          }
                        },
                        [&](const Report& a) {
                          // Of the loss of a worker it may be said that it
                          // closed a round.
                          Require(
                              a.decision.kind == DecisionKind::kRoundClosed ||
                                  members_.contains(a.decision.worker),
                              "report on a stranger", a.decision.worker);
                        },
                        [](const auto&) {}},
             action);
}

void InvariantChecker::Settled() {
  const WorkerId nobody{0};
  const bool computing = AnyIn(Phase::kComputing);
  Require(computing || !AnyIn(Phase::kWaiting), "all wait", nobody);
  Require(computing || open_pushes_.empty(), "pushes left in a round", nobody);
  Require(open_pushes_.size() <= 1, "more than one open round", nobody);
}

void InvariantChecker::Require(bool holds, absl::string_view what,
                               WorkerId worker) {
  if (holds) return;
  violations_.push_back(absl::StrCat(what, ": w", ToNumber(worker)));
}

void InvariantChecker::Count(Member& member) {
  member.clock = std::max(member.clock, Min().value_or(last_min_));
  member.counts = true;
}

std::optional<WorkerClock> InvariantChecker::Min() const {
  std::optional<WorkerClock> min;
  for (const auto& [worker, member] : members_) {
    if (!member.counts) continue;
    min = std::min(min.value_or(member.clock), member.clock);
  }
  return min;
}

bool InvariantChecker::AnyIn(Phase phase) const {
  return std::any_of(
      members_.begin(), members_.end(),
      [phase](const auto& entry) { return entry.second.phase == phase; });
}

}  // namespace paceline
