#include "tests/services/coordinator/sync/paradigms/policy_driver.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/overloaded.h"
#include "services/coordinator/sync/core/decision.h"

namespace paceline {
namespace {

using Phase = SyncView::Phase;

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-9;
// Drawn times are whole numbers of this many units.
constexpr double kTick = 10'000'000;
constexpr uint32_t kBatch = 16;
constexpr int kFaultySteps = 200;
constexpr int64_t kHealedReleases = 6;  // Of everybody.
constexpr int kMaxSteps = 20'000;
constexpr size_t kMaxMembers = 9;
constexpr int64_t kEndless = 1'000'000'000'000;
constexpr int64_t kSamplesTotal = 60;

std::string Name(WorkerId worker) {
  return absl::StrCat("w", ToNumber(worker));
}

}  // namespace

PolicyDriver::PolicyDriver(SyncPolicy& policy, Options options)
    : policy_(policy),
      options_(std::move(options)),
      rng_(options_.seed),
      view_(0, kBatch),
      faulty_(options_.faults) {}

// Of runs with faults one in three begins with workers in all phases.
void PolicyDriver::Start() {
  const bool takeover = faulty_ && rng_.Chance(1, 3);
  pool_ = faulty_ ? static_cast<int64_t>(20 + rng_.Below(100)) : kEndless;
  std::vector<double> times = options_.times;
  if (times.empty()) {
    for (uint64_t n = 1 + rng_.Below(6); n > 0; --n)
      times.push_back(DrawTime());
  }
  for (const double takes : times) {
    const WorkerId id{next_worker_++};
    Worker& worker = workers_[id];
    worker.takes = takes;
    worker.term = -1;
    worker.waits_since = now_;
    clocks_[id].counts = true;
    view_.Add(id);
    const auto phase =
        takeover ? static_cast<Phase>(rng_.Below(3)) : Phase::kWaiting;
    if (phase == Phase::kWaiting) continue;
    view_.Release(id);
    if (phase == Phase::kIdle) {
      view_.Tell(Idle{id});
      clocks_[id].counts = false;
    } else {
      if (rng_.Chance(1, 2)) worker.plan = PushPlan::Ask();
      Compute(id, worker);
    }
  }
  // Of all, as a rule.
  if (takeover && rng_.Chance(1, 2)) {
    SyncView::Paces paces;
    for (const auto& [id, worker] : workers_) {
      if (rng_.Chance(9, 10)) paces[id] = PaceOf(worker);
    }
    view_.BeginTerm(std::move(paces));
  }
  SetProgress();
  policy_.Adopt(view_, actions_);
  PerformAll();
  Settle();
}

Pace PolicyDriver::PaceOf(const Worker& worker) const {
  const absl::Duration busy = worker.takes * options_.unit;
  return {.seconds_each = absl::ToDoubleSeconds(busy) / kBatch,
          .samples = kBatch};
}

void PolicyDriver::RunUntil(double end) {
  Start();
  if (options_.losses) Schedule(0, Incident::kFault, WorkerId{0});
  while (Step(end)) {
  }
  now_ = end;
  for (auto& [id, worker] : workers_) {
    if (!worker.waits_since.has_value()) continue;
    worker.waited += ToTime(end) - ToTime(*worker.waits_since);
  }
}

void PolicyDriver::RunClosings(int64_t closings) {
  Start();
  while (closings_ < closings && Step(kNever)) {
  }
}

void PolicyDriver::RunThroughFaults() {
  Start();
  Schedule(0, Incident::kFault, WorkerId{0});
  for (int step = 0; step < kFaultySteps; ++step) Step(kNever);
  faulty_ = false;
  pool_ += kEndless;
  if (workers_.empty()) Join();
  Settle();
  for (auto& [id, worker] : workers_) worker.releases = 0;
  const auto lacks = [](const auto& entry) {
    return entry.second.releases < kHealedReleases;
  };
  int step = 0;
  while (std::any_of(workers_.begin(), workers_.end(), lacks)) {
    if (++step < kMaxSteps && Step(kNever)) continue;
    Require(false, "somebody is released no more, though nothing is wrong");
    break;
  }
  pool_ = static_cast<int64_t>(rng_.Below(30));
  for (step = 0; step < kMaxSteps && Step(kNever); ++step) {
  }
  for (const auto& [id, phase] : view_.members()) {
    Require(phase == Phase::kIdle, absl::StrCat(Name(id), " was forgotten"));
  }
  for (const auto& [id, round] : rounds_) {
    Require(round.pushes == 0,
            absl::StrCat("round ", ToNumber(id), " was not closed"));
  }
}

// A tick comes after everything else of its time.
bool PolicyDriver::TickIfDue(double end) {
  const absl::Time deadline = policy_.NextDeadline();
  if (deadline == absl::InfiniteFuture()) return false;
  const double due =
      absl::FDivDuration(deadline - absl::UnixEpoch(), options_.unit);
  double at = std::max(now_, due);
  if (options_.tick_delay > 0)
    at += std::floor(rng_.Unit() * options_.tick_delay);
  if (at > end + kRounding) return false;
  if (!queue_.empty() && std::get<double>(*queue_.begin()) <= at) return false;
  now_ = at;
  events_.push_back(Tick{});
  Settle();
  return true;
}

bool PolicyDriver::Step(double end) {
  if (TickIfDue(end)) return true;
  if (queue_.empty()) return false;
  const auto [at, id, order, incident, iteration] = *queue_.begin();
  if (at > end + kRounding) return false;
  now_ = at;
  queue_.erase(queue_.begin());
  if (incident == Incident::kFault) {
    if (faulty_ || options_.losses) Fault();
    return true;
  }
  const auto it = workers_.find(id);
  if (it == workers_.end() || it->second.iteration != iteration ||
      view_.PhaseOf(id) != Phase::kComputing) {
    return true;
  }
  if (incident == Incident::kReady) Ready(id, it->second);
  if (incident == Incident::kPush) Push(id, it->second);
  if (incident == Incident::kDrop) Drop(id, it->second);
  return true;
}

void PolicyDriver::Ready(WorkerId id, Worker& worker) {
  worker.asks = true;
  if (worker.term == term_) {
    events_.push_back(
        GradientReady{id, version_ - worker.base, worker.samples});
  } else {
    // The policy that would have known is gone.
    Perform(PlanPush{id, PushPlan::Immediate()});
  }
  Settle();
  const auto it = workers_.find(id);
  Require(it == workers_.end() || !it->second.asks,
          absl::StrCat(Name(id), " got no plan"));
}

void PolicyDriver::Push(WorkerId id, Worker& worker) {
  const PushPlan& plan = worker.plan;
  const bool taken = !worker.broken && plan.kind != PushPlan::Kind::kDiscard &&
                     plan.kind != PushPlan::Kind::kAsk;
  ++counted_;
  ++worker.pushes;
  worker.waits_since = now_;
  // The tail of a part is dealt again.
  if (worker.partial && rng_.Chance(1, 4)) ++pool_;
  if (plan.kind == PushPlan::Kind::kImmediate && taken) ++version_;
  Advance(id);
  if (plan.kind == PushPlan::Kind::kRound) {
    Round& round = rounds_[plan.round];
    --round.plans;
    if (taken) {
      view_.mutable_rounds().Pushed(plan.round, {});
    } else {
      view_.mutable_rounds().Ended(plan.round);
    }
    if (taken && !view_.rounds().OfEarlierTerm(plan.round)) ++round.pushes;
    if (taken && view_.rounds().OfEarlierTerm(plan.round)) {
      ++version_;  // The core closes it.
      ++core_closings_;
      view_.mutable_rounds().Drained(plan.round, version_);
    }
  }
  if (options_.faults && rng_.Chance(1, 12)) {
    events_.push_back(Flagged{id, !view_.stragglers().contains(id)});
  }
  const double share = taken ? (worker.partial ? 0.5 : 1) : 0;
  // It falls as if something were learned.
  std::optional<double> loss;
  if (taken) loss = 2.0 / (1.0 + static_cast<double>(counted_) / 20);
  events_.push_back(PushDone{id, share, taken, loss});
  Settle();
}

void PolicyDriver::Drop(WorkerId id, Worker& worker) {
  // It is too late: the gradient was ready before, or the plan known.
  if (worker.plan.kind != PushPlan::Kind::kAsk || worker.asks) return;
  worker.waits_since = now_;
  ++pool_;
  events_.push_back(Abandoned{id});
  Settle();
}

void PolicyDriver::Fault() {
  Schedule(options_.fault_every * 2 * rng_.Unit(), Incident::kFault,
           WorkerId{0});
  if (!faulty_) {
    if (workers_.size() > 1) Lose(AnyMember());
    Settle();
    return;
  }
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
    ++counted_;  // The last push of a lost one counts after all.
    pool_ = static_cast<int64_t>(rng_.Below(3));
  } else {
    pool_ += static_cast<int64_t>(rng_.Below(20));
  }
  Settle();
}

void PolicyDriver::Join() {
  const WorkerId id{next_worker_++};
  Worker& worker = workers_[id];
  worker.takes = DrawTime();
  worker.waits_since = now_;
  events_.push_back(Joined{id});
}

void PolicyDriver::Lose(WorkerId id) {
  const Worker& worker = workers_.at(id);
  const PushPlan plan = worker.plan;
  if (view_.Contains(id) && view_.PhaseOf(id) == Phase::kComputing) {
    ++pool_;
    if (plan.kind == PushPlan::Kind::kRound) {
      --rounds_[plan.round].plans;
      view_.mutable_rounds().Lost(plan.round);
      view_.mutable_rounds().Answered(plan.round, version_,
                                      /*taken=*/rng_.Chance(1, 3), {});
    }
  }
  workers_.erase(id);
  if (view_.Contains(id)) events_.push_back(Left{id});
}

void PolicyDriver::Settle() {
  do {
    while (!events_.empty()) {
      event_ = events_.front();
      events_.pop_front();
      last_min_ = MinClock().value_or(last_min_);
      std::visit(Overloaded{[&](const Tick&) {},
                            [&](const auto& e) {
                              Note(absl::StrCat("event ", event_->index(), " ",
                                                Name(e.worker)));
                            }},
                 *event_);
      TellClocks(*event_);
      view_.Tell(*event_);
      SetProgress();
      if (options_.observer != nullptr) {
        options_.observer->Happened(*this, *event_);
      }
      policy_.Apply(view_, *event_, actions_);
      PerformAll();
    }
    event_.reset();
    // What lost workers have left is closed by the core.
    for (const RoundId orphan : view_.mutable_rounds().TakeOrphans()) {
      view_.mutable_rounds().Drained(orphan, ++version_);
      ++core_closings_;
    }
  } while (ResumeIdle());
  CheckSettled();
}

void PolicyDriver::TellClocks(const Event& event) {
  const auto enter = [this](WorkerId worker) {
    PlainClock& clock = clocks_[worker];
    if (!options_.counts_from_release) Count(clock);
  };
  std::visit(
      Overloaded{[&](const Joined& e) { enter(e.worker); },
                 [&](const Resumed& e) { enter(e.worker); },
                 [&](const Left& e) { clocks_.erase(e.worker); },
                 [&](const Idle& e) { clocks_[e.worker].counts = false; },
                 [](const auto&) {}},
      event);
}

bool PolicyDriver::ResumeIdle() {
  int64_t resumed = 0;
  for (auto& [id, worker] : workers_) resumed += worker.resumed ? 1 : 0;
  for (auto& [id, worker] : workers_) {
    if (view_.PhaseOf(id) != Phase::kIdle || resumed >= pool_) continue;
    ++resumed;
    worker.resumed = true;
    worker.waits_since = now_;
    events_.push_back(Resumed{id});
  }
  return !events_.empty();
}

void PolicyDriver::PerformAll() {
  const std::vector<Action> actions = std::exchange(actions_, {});
  for (const Action& action : actions) {
    if (options_.observer != nullptr) {
      options_.observer->Performing(*this, action);
    }
    std::visit([this](const auto& a) { Perform(a); }, action);
  }
}

void PolicyDriver::Perform(const Release& release) {
  const WorkerId id = release.worker;
  Note(absl::StrCat("  release ", Name(id), " ", ToNumber(release.plan.round)));
  if (!view_.Contains(id) || view_.PhaseOf(id) != Phase::kWaiting) {
    Require(false, absl::StrCat("release of ", Name(id), " who does not wait"));
    return;
  }
  view_.Release(id);
  if (release.plan.kind == PushPlan::Kind::kRound) {
    view_.mutable_rounds().Name(release.plan.round);
    Require(!closed_.contains(release.plan.round),
            "release into a round that was closed");
  }
  const auto it = workers_.find(id);
  if (it == workers_.end()) return;  // It is lost, and the policy told next.
  Worker& worker = it->second;
  worker.resumed = false;
  ++worker.releases;
  if (worker.waits_since.has_value()) {
    worker.waited += ToTime(now_) - ToTime(*worker.waits_since);
    worker.waits_since.reset();
  }
  if (!clocks_[id].counts) Count(clocks_[id]);
  if (pool_ == 0) {
    view_.FindNothing(id);
    events_.push_back(Idle{id});
    return;
  }
  --pool_;
  view_.Begin(id, release.plan);
  worker.plan = release.plan;
  worker.term = term_;
  worker.base = version_;
  worker.samples = release.samples > 0 ? release.samples : kBatch;
  Issue(worker.plan);
  Compute(id, worker);
}

void PolicyDriver::Issue(const PushPlan& plan) {
  if (plan.kind != PushPlan::Kind::kRound) return;
  Require(!view_.rounds().OfEarlierTerm(plan.round),
          "a plan for a round of an earlier term");
  view_.mutable_rounds().Name(plan.round);
  view_.mutable_rounds().Issued(plan.round);
  ++rounds_[plan.round].plans;
}

void PolicyDriver::Perform(const PlanPush& planned) {
  Note(absl::StrCat("  plan ", Name(planned.worker), " round ",
                    ToNumber(planned.plan.round)));
  const auto it = workers_.find(planned.worker);
  if (it == workers_.end() || !it->second.asks ||
      planned.plan.kind == PushPlan::Kind::kAsk) {
    Require(false, "a plan that nobody asks for, or that is none");
    return;
  }
  it->second.asks = false;
  it->second.plan = planned.plan;
  Issue(planned.plan);
  const double delay = options_.instant_answers
                           ? 0
                           : kTick * static_cast<double>(rng_.Below(20));
  Schedule(delay, Incident::kPush, it->first);
}

void PolicyDriver::Perform(const Extend& extend) {
  Note(absl::StrCat("  extend ", Name(extend.worker)));
  const auto it = workers_.find(extend.worker);
  if (it == workers_.end() || !it->second.asks || extend.samples == 0) {
    Require(false, "an extension that nobody asks for, or that is none");
    return;
  }
  // Some do not know how, and some find nothing.
  if (ToNumber(extend.worker) % 3 == 2 || pool_ == 0) {
    return Perform(PlanPush{extend.worker, extend.otherwise});
  }
  it->second.asks = false;
  it->second.samples += extend.samples;
  Schedule(it->second.takes * extend.samples / kBatch, Incident::kReady,
           it->first);
}

void PolicyDriver::Perform(const Refresh& refresh) {
  Note(absl::StrCat("  refresh ", Name(refresh.worker)));
  const auto it = workers_.find(refresh.worker);
  if (it == workers_.end() || view_.PhaseOf(it->first) != Phase::kComputing ||
      it->second.plan.kind == PushPlan::Kind::kAsk) {
    return;
  }
  it->second.partial = true;
  // The push of the whole batch may still come first.
  Schedule(kTick * static_cast<double>(rng_.Below(10)), Incident::kPush,
           it->first);
}

void PolicyDriver::Perform(const Abandon& abandon) {
  Note(absl::StrCat("  abandon ", Name(abandon.worker)));
  const auto it = workers_.find(abandon.worker);
  if (it == workers_.end() || view_.PhaseOf(it->first) != Phase::kComputing) {
    return;
  }
  const double delay = options_.instant_answers
                           ? 0
                           : kTick * static_cast<double>(rng_.Below(30));
  Schedule(delay, Incident::kDrop, it->first);
}

void PolicyDriver::Perform(const CloseRounds& close) {
  ++version_;
  ++closings_;
  for (const RoundId id : close.rounds) {
    Note(absl::StrCat("  close ", ToNumber(id)));
    Round& round = rounds_[id];
    Require(round.pushes > 0 || view_.rounds().OfEarlierTerm(id),
            "a closing of a round that has gathered nothing");
    round.pushes = 0;
    closed_.insert(id);
    view_.mutable_rounds().Drained(id, version_);
  }
}

void PolicyDriver::Perform(const HandOver& /*over*/) {
  Note("  hand over");
  ++term_;
  SyncView::Paces paces;
  for (const auto& [id, worker] : workers_) {
    // As if first pushes were not measured.
    if (worker.pushes >= 2) paces[id] = PaceOf(worker);
  }
  view_.BeginTerm(std::move(paces));
  for (const RoundId id : view_.rounds().Undrained()) {
    ++version_;
    view_.mutable_rounds().Drained(id, version_);
  }
  for (auto& [id, round] : rounds_) round.pushes = 0;
  WorkerClock level = last_min_;
  for (const auto& [id, own] : clocks_) level = std::max(level, own.clock);
  for (auto& [id, own] : clocks_) own.clock = level;
  SetProgress();
  policy_.Adopt(view_, actions_);
  PerformAll();
}

void PolicyDriver::Perform(const Report& report) {
  const Decision& why = report.decision;
  const std::string sentence = Render(why);
  Require(!sentence.empty(), "a decision without words");
  const auto* const left =
      event_.has_value() ? std::get_if<Left>(&*event_) : nullptr;
  Require(view_.Contains(why.worker) ||
              (left != nullptr && left->worker == why.worker),
          "a report on a stranger");
  Note(absl::StrCat("  ", Name(why.worker), ": ", sentence));
}

void PolicyDriver::Schedule(double delay, Incident incident, WorkerId id) {
  const auto it = workers_.find(id);
  queue_.emplace(now_ + delay, id, scheduled_++, incident,
                 it == workers_.end() ? 0 : it->second.iteration);
}

void PolicyDriver::Compute(WorkerId id, Worker& worker) {
  ++worker.iteration;
  worker.asks = worker.partial = false;
  worker.waits_since.reset();
  worker.broken = faulty_ && rng_.Chance(1, 20);
  double takes = worker.takes;
  if (options_.time_of != nullptr) takes = options_.time_of(id, takes);
  if (worker.samples != kBatch) {
    takes = std::ceil(takes * worker.samples / kBatch);
  }
  if (options_.faults) {
    takes += kTick * static_cast<double>(rng_.Below(
                         1 + static_cast<uint64_t>(worker.takes / kTick / 4)));
  }
  if (faulty_ && rng_.Chance(1, 20)) takes *= 10;
  const bool asks = worker.plan.kind == PushPlan::Kind::kAsk && !worker.broken;
  Schedule(takes, asks ? Incident::kReady : Incident::kPush, id);
}

double PolicyDriver::DrawTime() {
  return kTick * static_cast<double>(1 + rng_.Below(80));
}

void PolicyDriver::Count(PlainClock& clock) {
  clock.clock = std::max(clock.clock, MinClock().value_or(last_min_));
  clock.counts = true;
}

std::optional<WorkerClock> PolicyDriver::MinClock() const {
  std::optional<WorkerClock> min;
  for (const auto& [id, own] : clocks_) {
    if (own.counts) min = std::min(min.value_or(own.clock), own.clock);
  }
  return min;
}

void PolicyDriver::Advance(WorkerId id) {
  const int64_t gap = ++clocks_[id].clock - *MinClock();
  max_gap_ = std::max(max_gap_, gap);
  if (options_.max_gap.has_value()) {
    Require(gap <= *options_.max_gap, absl::StrCat("gap ", gap));
  }
}

void PolicyDriver::CheckSettled() {
  const bool computes = view_.computing() > 0;
  Require(computes || view_.waiting().empty(),
          "nobody computes, and somebody waits");
  size_t open = 0;
  for (const auto& [id, round] : rounds_) {
    open += round.plans > 0 || round.pushes > 0 ? 1 : 0;
    Require(computes || round.pushes == 0, "pushes are left in a round");
  }
  Require(open <= kMaxOpenRounds, "too many rounds are open");
  std::erase_if(rounds_, [](const auto& entry) {
    return entry.second.plans == 0 && entry.second.pushes == 0;
  });
}

void PolicyDriver::Require(bool holds, absl::string_view what) {
  if (!holds) violations_.push_back(absl::StrCat("at ", now_, ": ", what));
}

void PolicyDriver::Note(absl::string_view line) {
  absl::StrAppend(&trace_, now_, " ", line, "\n");
}

absl::Time PolicyDriver::ToTime(double at) const {
  return absl::FromUnixNanos(
      std::llround(at * absl::ToDoubleNanoseconds(options_.unit)));
}

void PolicyDriver::SetProgress() {
  view_.SetProgress(ToTime(now_), version_, std::min(counted_, kSamplesTotal),
                    kSamplesTotal);
}

WorkerId PolicyDriver::AnyMember() {
  auto it = workers_.begin();
  std::advance(it, rng_.Below(workers_.size()));
  return it->first;
}

std::vector<int64_t> PolicyDriver::Pushes() const {
  std::vector<int64_t> pushes;
  for (const auto& [id, worker] : workers_) pushes.push_back(worker.pushes);
  return pushes;
}

std::vector<absl::Duration> PolicyDriver::Waited() const {
  std::vector<absl::Duration> waited;
  for (const auto& [id, worker] : workers_) waited.push_back(worker.waited);
  return waited;
}

}  // namespace paceline
