#include "tests/services/coordinator/policy/cgp_cluster.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/overloaded.h"

namespace paceline {
namespace {

using Phase = AdoptedWorker::Phase;

constexpr size_t kMaxMembers = 30;

}  // namespace

CgpCluster::CgpCluster(const CgpOptions& cgp, Options options)
    : cgp_(cgp),
      options_(std::move(options)),
      rng_(options_.seed),
      policy_(cgp) {
  for (const absl::Duration takes : options_.iteration_times) {
    workers_[WorkerId{next_worker_++}].takes = takes;
  }
  if (options_.faults) next_fault_ = now_;
}

void CgpCluster::Script(uint32_t worker, std::vector<absl::Duration> times) {
  std::reverse(times.begin(), times.end());
  workers_.at(WorkerId{worker}).scripted = std::move(times);
}

void CgpCluster::Run() {
  std::vector<AdoptedWorker> adopted;
  for (const auto& [id, worker] : workers_) adopted.push_back({id});
  std::vector<Action> actions;
  policy_.Adopt({.now = now_}, adopted, RoundId{1}, actions);
  for (const Action& action : actions) Perform(action);
  const absl::Time end = now_ + options_.horizon;
  while (true) {
    const absl::Time push =
        due_.empty() ? absl::InfiniteFuture() : due_.begin()->first;
    absl::Time tick = std::max(now_, policy_.NextDeadline());
    if (options_.tick_delay > absl::ZeroDuration()) {
      tick += absl::Nanoseconds(rng_.Below(static_cast<uint64_t>(
          absl::ToInt64Nanoseconds(options_.tick_delay))));
    }
    const absl::Time next = std::min({push, tick, next_fault_});
    if (next > end) return;
    now_ = next;
    if (push == next) {
      const WorkerId worker = due_.begin()->second;
      due_.erase(due_.begin());
      Push(worker);
    } else if (next_fault_ == next) {
      Fault();
    } else {
      Deliver(Tick{});
    }
  }
}

void CgpCluster::Fault() {
  next_fault_ = now_ + absl::Milliseconds(1 + rng_.Below(1'500));
  const uint64_t kind = rng_.Below(6);
  if (workers_.empty() || (kind == 0 && workers_.size() < kMaxMembers)) {
    const WorkerId id{next_worker_++};
    workers_[id].takes = absl::Milliseconds(500 + rng_.Below(4'000));
    workers_[id].resumed = true;
    Deliver(Joined{id});
    return;
  }
  auto it = workers_.begin();
  std::advance(it, rng_.Below(workers_.size()));
  auto& [id, worker] = *it;
  if (worker.phase == Phase::kIdle) {
    worker.phase = Phase::kWaiting;
    worker.resumed = true;
    Deliver(Resumed{id});
  } else if (kind == 1) {
    due_.erase({worker.released + worker.takes, id});
    std::erase_if(due_, [&](const auto& due) { return due.second == id; });
    if (worker.phase == Phase::kComputing &&
        worker.plan.kind == PushPlan::Kind::kRound) {
      --rounds_.at(worker.plan.round).plans;
    }
    const WorkerId gone = id;
    workers_.erase(it);
    Deliver(Left{gone});
  }
}

void CgpCluster::Push(WorkerId id) {
  Worker& worker = workers_.at(id);
  worker.phase = Phase::kWaiting;
  worker.pushed = now_;
  worker.resumed = false;
  const double busy_s = absl::ToDoubleSeconds(now_ - worker.released);
  const double mean = worker.busy_s.value_or(busy_s);
  worker.busy_s = mean + cgp_.alpha * (busy_s - mean);
  longest_busy_s_ = std::max(longest_busy_s_, *worker.busy_s);
  ++pushes_;
  if (worker.plan.kind == PushPlan::Kind::kRound) {
    Round& round = rounds_.at(worker.plan.round);
    --round.plans;
    (worker.floats ? round.late : round.gathered).push_back(id);
  } else {
    ++version_;
    ++immediate_;
  }
  if (worker.floats) ++late_;
  absl::StrAppend(&trace_, absl::FormatDuration(Elapsed()), " push ",
                  ToNumber(id), "\n");
  Deliver(PushDone{id});
}

void CgpCluster::Deliver(const Event& event) {
  events_.push_back(event);
  while (!events_.empty()) {
    const Event next = events_.front();
    events_.erase(events_.begin());
    std::vector<Action> actions;
    policy_.Apply({.now = now_, .version = version_}, next, actions);
    for (const Action& action : actions) Perform(action);
  }
  Check();
}

void CgpCluster::Perform(const Action& action) {
  std::visit(Overloaded{[&](const Release& a) { Start(a); },
                        [&](const CloseRounds& a) { Close(a); },
                        [&](const Report& a) {
                          const Decision& why = a.decision;
                          const auto it = workers_.find(why.worker);
                          Require(it != workers_.end(), "report on a stranger");
                          if (why.kind == DecisionKind::kFloats) {
                            it->second.floats = true;
                          }
                          absl::StrAppend(&trace_, "  ", ToNumber(why.worker),
                                          ": ", Render(why), "\n");
                        },
                        [&](const auto&) { Require(false, "other action"); }},
             action);
}

void CgpCluster::Start(const Release& release) {
  const WorkerId id = release.worker;
  Worker& worker = workers_.at(id);
  Require(worker.phase == Phase::kWaiting, "release of one who does not wait");
  if (!worker.resumed &&
      updates_.size() > static_cast<size_t>(cgp_.warmup_rounds)) {
    CheckWait(worker);
  }
  absl::StrAppend(&trace_, "  release ", ToNumber(id), " ",
                  ToNumber(release.plan.round), "\n");
  worker.floats = worker.resumed = false;
  if (options_.faults && rng_.Chance(1, 40)) {
    worker.phase = Phase::kIdle;
    events_.push_back(Idle{id});
    return;
  }
  worker.phase = Phase::kComputing;
  worker.released = now_;
  worker.plan = release.plan;
  worker.base = version_;
  if (release.plan.kind == PushPlan::Kind::kRound) {
    const auto [it, fresh] = rounds_.try_emplace(release.plan.round);
    Round& round = it->second;
    if (fresh) {
      round.base = version_;
      round.released = now_;
    }
    ++round.plans;
    Require(round.base == version_ && round.released == now_,
            "members of one round have different versions");
  }
  absl::Duration takes = worker.takes;
  if (!worker.scripted.empty()) {
    takes = worker.scripted.back();
    worker.scripted.pop_back();
  }
  if (options_.jitter) {
    takes += absl::Nanoseconds(rng_.Below(
        static_cast<uint64_t>(absl::ToInt64Nanoseconds(takes) / 10)));
  }
  if (options_.faults && rng_.Chance(1, 40)) takes *= 8;
  due_.emplace(now_ + takes, id);
}

// algorithms.md 3.5: nobody waits longer than patience and delta allow, in
// periods of the slowest group. Here for those in time; with a regrouping there
// may be two groups to wait for.
void CgpCluster::CheckWait(const Worker& worker) {
  if (worker.floats || !cgp_.patience.has_value() || cgp_.s_max.has_value()) {
    return;
  }
  const double groups = cgp_.regroup_every < 1'000'000 ? 2 : 1;
  const double most = groups * longest_busy_s_ * (*cgp_.patience + cgp_.delta);
  Require(now_ - worker.pushed <= absl::Seconds(most) +
                                      4 * options_.tick_delay +
                                      absl::Nanoseconds(10),
          "somebody waited too long");
}

void CgpCluster::Close(const CloseRounds& close) {
  Update update{.at = Elapsed(), .version = version_ + 1, .staleness = {}};
  absl::StrAppend(&trace_, "  at ", absl::FormatDuration(Elapsed()), " close");
  for (const RoundId id : close.rounds) {
    absl::StrAppend(&trace_, " ", ToNumber(id));
    const auto it = rounds_.find(id);
    Require(it != rounds_.end() &&
                it->second.gathered.size() + it->second.late.size() > 0,
            "a closing of nothing");
    if (it == rounds_.end()) continue;
    Round& round = it->second;
    // All members of a round have its base.
    const int64_t staleness = version_ - round.base;
    for (const auto* const pushes : {&round.gathered, &round.late}) {
      for (const WorkerId worker : *pushes) {
        update.staleness.emplace_back(ToNumber(worker), staleness);
      }
    }
    if (cgp_.s_max.has_value() && !round.gathered.empty() && immediate_ == 0) {
      Require(staleness <= *cgp_.s_max, "staler than s_max");
    }
    update.rounds += round.gathered.empty() ? 0 : 1;
    round.gathered.clear();
    round.late.clear();
  }
  absl::StrAppend(&trace_, "\n");
  std::sort(update.staleness.begin(), update.staleness.end());
  updates_.push_back(std::move(update));
  ++version_;
}

void CgpCluster::Check() {
  bool computes = false;
  bool waits = false;
  for (const auto& [id, worker] : workers_) {
    computes = computes || worker.phase == Phase::kComputing;
    waits = waits || worker.phase == Phase::kWaiting;
  }
  Require(computes || !waits, "nobody computes, and somebody waits");
  std::erase_if(rounds_, [](const auto& entry) {
    return entry.second.plans == 0 && entry.second.gathered.empty() &&
           entry.second.late.empty();
  });
  Require(computes || rounds_.empty(), "a round is left open");
  Require(rounds_.size() <= CgpAccumulators::kMax, "too many accumulators");
}

void CgpCluster::Require(bool holds, absl::string_view what) {
  if (holds) return;
  violations_.push_back(
      absl::StrCat(absl::FormatDuration(Elapsed()), ": ", what));
}

}  // namespace paceline
