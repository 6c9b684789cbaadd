#include "tests/services/coordinator/policy/faulty_cluster.h"

#include <algorithm>
#include <iterator>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/overloaded.h"

namespace paceline {
namespace {

using Phase = AdoptedWorker::Phase;

constexpr int64_t kTick = 100'000'000;  // 0.1 s
constexpr int64_t kFaultyPushes = 120;
constexpr int64_t kHealedPushes = 10;  // Of every worker.
constexpr int64_t kMaxHealingSteps = 200'000;
constexpr size_t kMaxMembers = 9;

std::string ToText(const Event& event) {
  return std::visit(
      Overloaded{[](const Joined& e) {
                   return absl::StrCat("join ", ToNumber(e.worker));
                 },
                 [](const Left& e) {
                   return absl::StrCat("leave ", ToNumber(e.worker));
                 },
                 [](const Idle& e) {
                   return absl::StrCat("idle ", ToNumber(e.worker));
                 },
                 [](const Resumed& e) {
                   return absl::StrCat("resume ", ToNumber(e.worker));
                 },
                 [](const PushDone& e) {
                   return absl::StrCat("push ", ToNumber(e.worker));
                 },
                 [](const auto&) { return std::string("other event"); }},
      event);
}

std::string ToText(const Action& action) {
  return std::visit(
      Overloaded{[](const Release& a) {
                   return absl::StrCat("release ", ToNumber(a.worker), " ",
                                       ToNumber(a.plan.round));
                 },
                 [](const CloseRounds& a) {
                   return absl::StrCat("close ", ToNumber(a.rounds.front()));
                 },
                 [](const Report& a) {
                   return absl::StrCat("report ", ToNumber(a.decision.worker),
                                       " ", Render(a.decision));
                 },
                 [](const auto&) { return std::string("other action"); }},
      action);
}

}  // namespace

FaultyCluster::FaultyCluster(SyncPolicy& policy, uint64_t seed,
                             const InvariantChecker::Options& invariants)
    : policy_(policy),
      rng_(seed),
      checker_(invariants),
      jitter_(rng_.Chance(2, 3)),
      latency_ns_(static_cast<int64_t>(rng_.Below(4)) * 2 * kTick) {}

void FaultyCluster::Run() {
  Start();
  RunFaults();
  RunHealed();
}

std::vector<std::string> FaultyCluster::violations() const {
  std::vector<std::string> all = checker_.violations();
  all.insert(all.end(), failures_.begin(), failures_.end());
  return all;
}

// One run in four begins with a takeover of workers in all phases.
void FaultyCluster::Start() {
  const bool takeover = rng_.Chance(1, 4);
  std::vector<AdoptedWorker> workers;
  for (uint64_t n = 1 + rng_.Below(6); n > 0; --n) {
    const WorkerId worker{next_worker_++};
    workers.push_back({worker, takeover ? static_cast<Phase>(rng_.Below(3))
                                        : Phase::kWaiting});
    iteration_ns_[worker] = static_cast<int64_t>(1 + rng_.Below(8)) * kTick;
  }
  checker_.Adopted(workers);
  policy_.Adopt({absl::FromUnixNanos(0)}, workers, RoundId{1}, actions_);
  for (const AdoptedWorker& adopted : workers) {
    if (adopted.phase == Phase::kComputing) StartIteration(adopted.worker);
  }
  Perform();
}

void FaultyCluster::RunFaults() {
  Schedule(0, Incident::kFault, WorkerId{0});
  while (pushes_ < kFaultyPushes) Step();
}

void FaultyCluster::RunHealed() {
  faulty_ = false;
  std::vector<WorkerId> idle;
  for (const auto& [worker, member] : checker_.members()) {
    if (member.phase == Phase::kIdle) idle.push_back(worker);
  }
  for (const WorkerId worker : idle) Deliver(Resumed{worker});
  if (checker_.members().empty()) Join();
  std::map<WorkerId, int64_t> goals;
  for (const auto& [worker, member] : checker_.members()) {
    goals[worker] = member.pushes + kHealedPushes;
  }
  for (int64_t steps = 0; !Healed(goals); ++steps) {
    if (queue_.empty() || steps > kMaxHealingSteps) {
      failures_.push_back("no progress without faults");
      return;
    }
    Step();
  }
}

bool FaultyCluster::Healed(const std::map<WorkerId, int64_t>& goals) const {
  return std::all_of(goals.begin(), goals.end(), [this](const auto& goal) {
    return checker_.members().at(goal.first).pushes >= goal.second;
  });
}

void FaultyCluster::Step() {
  const auto next = queue_.begin();
  now_ns_ = next->first.first;
  const auto [incident, worker] = next->second;
  queue_.erase(next);
  if (incident == Incident::kFault) {
    if (faulty_) Fault();
    return;
  }
  // The push of a worker that was lost meanwhile comes too late.
  if (!checker_.members().contains(worker)) return;
  ++pushes_;
  Deliver(PushDone{worker});
}

void FaultyCluster::Join() {
  const WorkerId worker{next_worker_++};
  iteration_ns_[worker] = static_cast<int64_t>(1 + rng_.Below(8)) * kTick;
  Deliver(Joined{worker});
}

void FaultyCluster::Fault() {
  Schedule(static_cast<int64_t>(rng_.Below(10)) * kTick, Incident::kFault,
           WorkerId{0});
  const uint64_t kind = rng_.Below(8);
  if (checker_.members().empty() ||
      (kind == 0 && checker_.members().size() < kMaxMembers)) {
    Join();
    return;
  }
  const WorkerId worker = AnyMember();
  if (kind == 1) {
    Deliver(Left{worker});
  } else if (checker_.members().at(worker).phase == Phase::kIdle) {
    Deliver(Resumed{worker});
  }
}

WorkerId FaultyCluster::AnyMember() {
  auto it = checker_.members().begin();
  std::advance(it, rng_.Below(checker_.members().size()));
  return it->first;
}

void FaultyCluster::Deliver(const Event& event) {
  absl::StrAppend(&trace_, now_ns_, " ", ToText(event), "\n");
  checker_.Happened(event);
  policy_.Apply({absl::FromUnixNanos(now_ns_)}, event, actions_);
  Perform();
}

// Also lets those become idle at once who were released without samples.
void FaultyCluster::Perform() {
  const std::vector<Action> actions = std::exchange(actions_, {});
  for (const Action& action : actions) {
    absl::StrAppend(&trace_, "  ", ToText(action), "\n");
    checker_.Performed(action);
    const auto* const release = std::get_if<Release>(&action);
    if (release == nullptr) continue;
    if (faulty_ && rng_.Chance(1, 20)) {
      without_samples_.push_back(release->worker);
    } else {
      StartIteration(release->worker);
    }
  }
  if (without_samples_.empty()) {
    checker_.Settled();
    return;
  }
  const WorkerId worker = without_samples_.back();
  without_samples_.pop_back();
  Deliver(Idle{worker});
}

void FaultyCluster::StartIteration(WorkerId worker) {
  int64_t takes_ns = iteration_ns_.at(worker);
  if (jitter_) takes_ns += static_cast<int64_t>(rng_.Below(takes_ns / 4));
  if (faulty_ && rng_.Chance(1, 30)) takes_ns *= 15;
  for (int message = 0; message < 2 && latency_ns_ > 0; ++message) {
    takes_ns += static_cast<int64_t>(rng_.Below(latency_ns_));
  }
  Schedule(takes_ns, Incident::kPush, worker);
}

void FaultyCluster::Schedule(int64_t in_ns, Incident incident,
                             WorkerId worker) {
  queue_.emplace(std::pair(now_ns_ + in_ns, scheduled_++),
                 std::pair(incident, worker));
}

}  // namespace paceline
