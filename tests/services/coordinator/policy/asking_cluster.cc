#include "tests/services/coordinator/policy/asking_cluster.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/overloaded.h"

namespace paceline {
namespace {

constexpr int64_t kTickNs = 10'000'000;
constexpr int kFaultySteps = 150;
constexpr int64_t kHealedReleases = 5;  // Of everybody.
constexpr int kMaxSteps = 20'000;
constexpr size_t kMaxMembers = 9;

}  // namespace

AskingCluster::AskingCluster(SyncPolicy& policy, uint64_t seed)
    : policy_(policy), rng_(seed) {
  moment_.samples_total = 60;
}

void AskingCluster::Run() {
  Start();
  RunFaulty();
  RunHealed();
  RunOut();
}

// One run in three begins with a takeover of workers in all phases.
void AskingCluster::Start() {
  const bool takeover = rng_.Chance(1, 3);
  pool_ = static_cast<int64_t>(20 + rng_.Below(100));
  std::vector<AdoptedWorker> adopted;
  for (uint64_t n = 1 + rng_.Below(6); n > 0; --n) {
    const WorkerId id{next_worker_++};
    Worker& worker = workers_[id];
    worker.speed = static_cast<int64_t>(1 + rng_.Below(80));
    worker.reign = -1;
    if (takeover) worker.phase = static_cast<Phase>(rng_.Below(3));
    if (worker.phase == Phase::kComputing) {
      if (rng_.Chance(1, 2)) worker.plan = PushPlan::Ask();
      Compute(id);
    }
    adopted.push_back({id, worker.phase});
  }
  policy_.Adopt(Now(), adopted, next_round_, actions_);
  PerformAll();
  Settle();
}

void AskingCluster::RunFaulty() {
  Schedule(0, Incident::kFault, WorkerId{0});
  for (int step = 0; step < kFaultySteps; ++step) Step();
}

void AskingCluster::RunHealed() {
  faulty_ = false;
  pool_ += 1'000'000;
  if (workers_.empty()) Join();
  Settle();
  for (auto& [id, worker] : workers_) worker.releases = 0;
  const auto lacks = [](const auto& entry) {
    return entry.second.releases < kHealedReleases;
  };
  for (int step = 0; step < kMaxSteps; ++step) {
    if (std::none_of(workers_.begin(), workers_.end(), lacks)) return;
    if (!Step()) break;
  }
  Wrong("somebody is released no more, though nothing is wrong");
}

void AskingCluster::RunOut() {
  pool_ = static_cast<int64_t>(rng_.Below(30));
  for (int step = 0; step < kMaxSteps && Step(); ++step) {
  }
  for (const auto& [id, worker] : workers_) {
    if (worker.phase != Phase::kIdle) {
      Wrong(absl::StrCat("w", ToNumber(id), " was forgotten"));
    }
  }
  for (const auto& [id, round] : rounds_) {
    if (round.gathered > 0) {
      Wrong(absl::StrCat("round ", ToNumber(id), " was not closed"));
    }
  }
}

// In whole ticks, so that it may come late; but not before what happens at the
// same time.
bool AskingCluster::TickIfDue() {
  const absl::Time deadline = policy_.NextDeadline();
  if (deadline == absl::InfiniteFuture()) return false;
  const int64_t at =
      std::max(now_, (absl::ToUnixNanos(deadline) + kTickNs - 1) / kTickNs);
  if (!queue_.empty() && queue_.begin()->first.first <= at) return false;
  now_ = at;
  events_.push_back(Tick{});
  Settle();
  return true;
}

bool AskingCluster::Step() {
  if (TickIfDue()) return true;
  if (queue_.empty()) return false;
  const auto next = queue_.begin();
  now_ = next->first.first;
  const Pending pending = next->second;
  queue_.erase(next);
  if (pending.incident == Incident::kFault) {
    if (faulty_) Fault();
    return true;
  }
  const auto it = workers_.find(pending.worker);
  if (it == workers_.end() || it->second.phase != Phase::kComputing ||
      it->second.iteration != pending.iteration) {
    return true;
  }
  if (pending.incident == Incident::kReady) Ready(it->first, it->second);
  if (pending.incident == Incident::kPush) Push(it->first, it->second);
  if (pending.incident == Incident::kDrop) Drop(it->first, it->second);
  return true;
}

void AskingCluster::Ready(WorkerId id, Worker& worker) {
  worker.asks = true;
  if (worker.reign == reign_) {
    events_.push_back(GradientReady{id, moment_.version - worker.base});
  } else {
    // The policy that would have known is gone.
    Perform(PlanPush{id, PushPlan::Immediate()});
  }
  Settle();
  if (worker.asks) Wrong(absl::StrCat("w", ToNumber(id), " got no plan"));
}

void AskingCluster::Push(WorkerId id, Worker& worker) {
  worker.phase = Phase::kWaiting;
  ++moment_.samples_counted;
  // A part's tail is dealt again.
  if (worker.partial && rng_.Chance(1, 4)) ++pool_;
  if (worker.plan.kind == PushPlan::Kind::kImmediate) ++moment_.version;
  if (worker.plan.kind == PushPlan::Kind::kRound) {
    Round& round = rounds_[worker.plan.round];
    --round.plans;
    // Those of an earlier reign are closed by the core.
    if (!worker.broken && worker.reign == reign_) ++round.gathered;
  }
  if (rng_.Chance(1, 12)) {
    worker.flagged = !worker.flagged;
    events_.push_back(Flagged{id, worker.flagged});
  }
  events_.push_back(PushDone{id});
  Settle();
}

void AskingCluster::Drop(WorkerId id, Worker& worker) {
  // Too late: the gradient was ready before, or the plan known.
  if (worker.plan.kind != PushPlan::Kind::kAsk || worker.asks) return;
  worker.phase = Phase::kWaiting;
  ++pool_;
  events_.push_back(Abandoned{id});
  Settle();
}

void AskingCluster::Fault() {
  Schedule(static_cast<int64_t>(rng_.Below(60)), Incident::kFault, WorkerId{0});
  const uint64_t kind = rng_.Below(8);
  if (workers_.empty() || (kind <= 1 && workers_.size() < kMaxMembers)) {
    Join();
  } else if (kind == 2) {
    Lose(AnyMember());
  } else if (kind == 3) {
    // All are lost before the policy is told of the first.
    for (uint64_t n = rng_.Below(3); n > 0 && !workers_.empty(); --n) {
      Lose(AnyMember());
    }
  } else if (kind == 4) {
    ++moment_.samples_counted;  // The last push of a lost one counts after all.
    pool_ = static_cast<int64_t>(rng_.Below(3));
  } else {
    pool_ += static_cast<int64_t>(rng_.Below(20));
  }
  Settle();
}

void AskingCluster::Join() {
  const WorkerId id{next_worker_++};
  workers_[id].speed = static_cast<int64_t>(1 + rng_.Below(80));
  events_.push_back(Joined{id});
}

void AskingCluster::Lose(WorkerId id) {
  const Worker& worker = workers_.at(id);
  if (worker.phase == Phase::kComputing) {
    ++pool_;
    if (worker.plan.kind == PushPlan::Kind::kRound) {
      --rounds_[worker.plan.round].plans;
    }
  }
  workers_.erase(id);
  events_.push_back(Left{id});
}

void AskingCluster::Settle() {
  do {
    while (!events_.empty()) {
      const Event event = events_.front();
      events_.pop_front();
      Apply(event);
    }
  } while (ResumeIdle());
  Check();
}

bool AskingCluster::ResumeIdle() {
  int64_t resumed = 0;
  for (auto& [id, worker] : workers_) resumed += worker.resumed ? 1 : 0;
  for (auto& [id, worker] : workers_) {
    if (worker.phase != Phase::kIdle || resumed >= pool_) continue;
    ++resumed;
    worker.phase = Phase::kWaiting;
    worker.resumed = true;
    events_.push_back(Resumed{id});
  }
  return !events_.empty();
}

void AskingCluster::Apply(const Event& event) {
  std::visit(Overloaded{[&](const Tick&) {},
                        [&](const auto& e) {
                          absl::StrAppend(&trace_, now_, " event ",
                                          event.index(), " w",
                                          ToNumber(e.worker), "\n");
                        }},
             event);
  policy_.Apply(Now(), event, actions_);
  PerformAll();
}

void AskingCluster::PerformAll() {
  for (const Action& action : actions_) {
    std::visit([this](const auto& a) { Perform(a); }, action);
  }
  actions_.clear();
}

void AskingCluster::Schedule(int64_t ticks, Incident incident, WorkerId id) {
  const auto it = workers_.find(id);
  const int64_t iteration = it == workers_.end() ? 0 : it->second.iteration;
  queue_.emplace(std::pair(now_ + ticks, scheduled_++),
                 Pending{incident, id, iteration});
}

void AskingCluster::Compute(WorkerId id) {
  Worker& worker = workers_.at(id);
  ++worker.iteration;
  worker.asks = worker.partial = false;
  worker.broken = faulty_ && rng_.Chance(1, 20);
  int64_t ticks =
      worker.speed + static_cast<int64_t>(rng_.Below(1 + worker.speed / 4));
  if (faulty_ && rng_.Chance(1, 20)) ticks *= 10;
  const bool asks = worker.plan.kind == PushPlan::Kind::kAsk && !worker.broken;
  Schedule(ticks, asks ? Incident::kReady : Incident::kPush, id);
}

void AskingCluster::Check() {
  bool computes = false;
  std::optional<WorkerId> waits;
  for (const auto& [id, worker] : workers_) {
    computes = computes || worker.phase == Phase::kComputing;
    if (worker.phase == Phase::kWaiting) waits = id;
  }
  if (waits.has_value() && !computes) {
    Wrong(absl::StrCat("nobody computes, and w", ToNumber(*waits), " waits"));
  }
  std::erase_if(rounds_, [](const auto& entry) {
    return entry.second.plans == 0 && entry.second.gathered == 0;
  });
  open_rounds_max_ = std::max(open_rounds_max_, rounds_.size());
}

void AskingCluster::Wrong(absl::string_view what) {
  violations_.push_back(absl::StrCat("at ", now_, ": ", what));
}

Moment AskingCluster::Now() const {
  Moment moment = moment_;
  moment.now = absl::FromUnixNanos(now_ * kTickNs);
  moment.samples_counted =
      std::min(moment.samples_counted, moment.samples_total);
  return moment;
}

WorkerId AskingCluster::AnyMember() {
  auto it = workers_.begin();
  std::advance(it, rng_.Below(workers_.size()));
  return it->first;
}

}  // namespace paceline
