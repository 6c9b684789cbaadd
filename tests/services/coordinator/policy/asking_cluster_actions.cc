// What the cluster does with a policy's actions, as the core would.

#include <algorithm>
#include <variant>

#include "absl/strings/str_cat.h"
#include "services/coordinator/policy/decision.h"
#include "tests/services/coordinator/policy/asking_cluster.h"

namespace paceline {

void AskingCluster::Perform(const Release& release) {
  absl::StrAppend(&trace_, "  release w", ToNumber(release.worker), "\n");
  const auto it = workers_.find(release.worker);
  if (it == workers_.end()) {
    const bool lost =
        std::any_of(events_.begin(), events_.end(), [&](const Event& event) {
          const auto* const left = std::get_if<Left>(&event);
          return left != nullptr && left->worker == release.worker;
        });
    if (!lost) Wrong("release of one who is no member");
    return;
  }
  Worker& worker = it->second;
  if (worker.phase != Phase::kWaiting) {
    Wrong(absl::StrCat("release of w", ToNumber(it->first),
                       " who does not wait"));
    return;
  }
  worker.resumed = false;
  ++worker.releases;
  if (pool_ == 0) {
    worker.phase = Phase::kIdle;
    events_.push_back(Idle{it->first});
    return;
  }
  --pool_;
  worker.phase = Phase::kComputing;
  worker.plan = release.plan;
  worker.reign = reign_;
  worker.base = moment_.version;
  Issue(worker.plan);
  Compute(it->first);
}

void AskingCluster::Issue(const PushPlan& plan) {
  if (plan.kind != PushPlan::Kind::kRound) return;
  if (plan.round < first_round_) Wrong("a round of an earlier reign");
  next_round_ = std::max(next_round_, RoundId{ToNumber(plan.round) + 1});
  ++rounds_[plan.round].plans;
}

void AskingCluster::Perform(const PlanPush& planned) {
  absl::StrAppend(&trace_, "  plan w", ToNumber(planned.worker), " round ",
                  ToNumber(planned.plan.round), "\n");
  const auto it = workers_.find(planned.worker);
  if (it == workers_.end() || !it->second.asks ||
      planned.plan.kind == PushPlan::Kind::kAsk) {
    Wrong("a plan that nobody asks for, or that is none");
    return;
  }
  it->second.asks = false;
  it->second.plan = planned.plan;
  Issue(planned.plan);
  Schedule(static_cast<int64_t>(rng_.Below(20)), Incident::kPush, it->first);
}

void AskingCluster::Perform(const Refresh& refresh) {
  absl::StrAppend(&trace_, "  refresh w", ToNumber(refresh.worker), "\n");
  const auto it = workers_.find(refresh.worker);
  if (it == workers_.end() || it->second.phase != Phase::kComputing) return;
  if (it->second.plan.kind == PushPlan::Kind::kAsk) return;
  it->second.partial = true;
  // The push of the whole batch may still come first.
  Schedule(static_cast<int64_t>(rng_.Below(10)), Incident::kPush, it->first);
}

void AskingCluster::Perform(const Abandon& abandon) {
  absl::StrAppend(&trace_, "  abandon w", ToNumber(abandon.worker), "\n");
  const auto it = workers_.find(abandon.worker);
  if (it == workers_.end() || it->second.phase != Phase::kComputing) return;
  Schedule(static_cast<int64_t>(rng_.Below(30)), Incident::kDrop, it->first);
}

void AskingCluster::Perform(const CloseRounds& close) {
  ++moment_.version;
  for (const RoundId id : close.rounds) {
    absl::StrAppend(&trace_, "  close ", ToNumber(id), "\n");
    rounds_[id].gathered = 0;
  }
}

void AskingCluster::Perform(const HandOver& /*over*/) {
  absl::StrAppend(&trace_, "  hand over\n");
  ++reign_;
  first_round_ = next_round_;
  for (auto& [id, round] : rounds_) round.gathered = 0;
}

void AskingCluster::Perform(const Report& report) {
  const std::string sentence = Render(report.decision);
  if (sentence.empty()) Wrong("a decision without words");
  absl::StrAppend(&trace_, "  w", ToNumber(report.decision.worker), ": ",
                  sentence, "\n");
}

}  // namespace paceline
