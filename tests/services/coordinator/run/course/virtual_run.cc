#include "tests/services/coordinator/run/course/virtual_run.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace paceline {
namespace {

constexpr absl::Duration kLease = absl::Seconds(10);
constexpr int kBlocks = 2;  // Of each server.
// Far more than any run takes; a run that needs them does not end.
constexpr int kMostSteps = 200'000;
constexpr absl::Duration kMostTime = absl::Hours(12);

}  // namespace

const std::vector<std::string>& VirtualRun::Paradigms() {
  static const auto& paradigms = *new std::vector<std::string>{
      "bsp", "asp",     "ssp:s=2",        "dssp:lower=1,upper=4",
      "cgp", "saps",    "ksync:k=2",      "kbatchasync:k=2",
      "abs", "elastic", "psp:beta=1,s=2", "syncswitch:at=0.3"};
  return paradigms;
}

VirtualRun::VirtualRun(uint64_t seed, const std::string& paradigm,
                       const Faults& faults)
    : rng_(seed), faults_(faults), end_of_faults_(now_ + faults.until) {
  const size_t servers = 1 + rng_.Below(3);
  options_.lease = kLease;
  for (size_t i = 0; i < servers; ++i) {
    options_.servers.push_back(absl::StrCat("s", i));
  }
  options_.paradigm = *ParseParadigm(paradigm);
  options_.batch_size = static_cast<uint32_t>(4 + rng_.Below(12));
  options_.evaluate = rng_.Chance(2, 3);
  options_.eval_every = static_cast<int64_t>(20 + rng_.Below(40));
  options_.defer_evaluation = rng_.Chance(1, 3);
  if (rng_.Chance(3, 4)) options_.checkpoint_root = "/checkpoints";
  model_.tensors = {{"weights", {10, 4}, 40, false}, {"mean", {4}, 4, true}};
  model_.train_samples = static_cast<uint32_t>(40 + rng_.Below(100));
  settings_.workers_min = 1 + rng_.Below(2);
  settings_.stop.epochs = static_cast<int64_t>(1 + rng_.Below(3));
  if (rng_.Chance(1, 8)) settings_.stop.seconds = 5;
  if (rng_.Chance(1, 4)) settings_.checkpoint_interval = absl::Seconds(2);
  if (rng_.Chance(1, 4)) {
    options_.restored = true;
    start_.tensors = model_.tensors;
    start_.version = 7;
    start_.seconds = 3;
    start_.position.next_begin = model_.train_samples / 2;
    start_.position.open = {{0, 1, 4}};
  }
  server_hangs_.resize(servers);
  server_free_.resize(servers, now_);
  course_.emplace(options_, settings_, now_);
  checker_.Begin(model_.train_samples, start_,
                 !options_.checkpoint_root.empty(),
                 /*limited=*/settings_.stop.seconds > 0);
}

std::string VirtualRun::Run() {
  const uint64_t workers = settings_.workers_min + rng_.Below(3);
  for (uint64_t i = 0; i < workers; ++i) {
    Later(Draw(3000), [this] { AddMember(/*evaluator=*/false); });
  }
  if (rng_.Chance(3, 4)) {
    Later(Draw(3000), [this] { AddMember(/*evaluator=*/true); });
  }
  Later(Draw(50), [this] {
    Give(FilesOpened{absl::OkStatus(), start_}).IgnoreError();
  });
  Later(absl::Seconds(1), [this] { EverySecond(); });
  const absl::Time most = now_ + kMostTime;
  int standing = 0;  // Deadlines in a row at which no time had passed.
  for (int steps = 0; checker_.violation().empty(); ++steps) {
    // What is under way when it ends still arrives.
    if (events_.empty() && checker_.ended()) return "";
    if (steps > kMostSteps || now_ > most) {
      return absl::StrCat(
          "it does not end: stage ", static_cast<int>(course_->stage()), ", ",
          course_->evaluations().pending(), " snapshots wait, an evaluator is ",
          course_->evaluations().has_evaluator() ? "" : "not ", "there");
    }
    const absl::Time due = course_->NextDeadline();
    if (events_.empty() || due <= events_.begin()->first) {
      if (due == absl::InfiniteFuture()) return "nothing is waited for";
      standing = due <= now_ ? standing + 1 : 0;
      if (standing > 5) return "its time does not pass";
      now_ = std::max(now_, due);
      Give(TimePassed{}).IgnoreError();
      continue;
    }
    if (events_.begin()->first > now_) standing = 0;
    now_ = std::max(now_, events_.begin()->first);
    const auto event = std::move(events_.begin()->second);
    events_.erase(events_.begin());
    event();
  }
  return checker_.violation();
}

void VirtualRun::Later(absl::Duration after, std::function<void()> what) {
  events_.emplace(now_ + after, std::move(what));
}

absl::Status VirtualRun::Give(const RunInput& input) {
  std::vector<RunOutput> outputs;
  const absl::Status status = course_->Step(now_, input, outputs);
  for (const RunOutput& output : outputs) {
    checker_.Observe(output);
    std::visit([this](const auto& what) { On(what); }, output);
  }
  checker_.EndOfStep(*course_);
  return status;
}

void VirtualRun::AddMember(bool evaluator) {
  if (checker_.ended()) return;
  const WorkerId worker{next_worker_++};
  members_[worker].evaluator = evaluator;
  const uint64_t incarnation = rng_.Next();
  by_incarnation_[incarnation] = worker;
  Give(MemberCame{worker, absl::StrCat("m", ToNumber(worker)), incarnation,
                  evaluator})
      .IgnoreError();
}

void VirtualRun::Does(WorkerId worker, int most_ms,
                      std::function<void(Member&)> what) {
  Later(Draw(most_ms), [this, worker, what = std::move(what)] {
    Member& member = members_.at(worker);
    if (!member.alive || member.frozen || checker_.ended()) return;
    if (faulty() && Chance(faults_.member_dies)) {
      return Lose(worker, LossReason::kStreamBroken);
    }
    if (faulty() && Chance(faults_.member_leaves)) {
      return Lose(worker, LossReason::kDeparted);
    }
    if (faulty() && Chance(faults_.member_freezes)) {
      member.frozen = true;
      return;
    }
    what(member);
  });
}

void VirtualRun::Lose(WorkerId worker, LossReason reason) {
  Member& member = members_.at(worker);
  member.alive = false;
  // Of its last push all, a part or nothing had arrived.
  member.taken = reason == LossReason::kDeparted
                     ? 0
                     : static_cast<int>(rng_.Below(kBlocks + 1));
  Give(MemberGone{worker, reason,
                  reason == LossReason::kFailed
                      ? absl::DataLossError("the data are damaged")
                      : absl::OkStatus()})
      .IgnoreError();
}

void VirtualRun::EverySecond() {
  if (checker_.ended()) return;
  size_t trainers = 0;
  bool evaluator = false;
  for (auto& [worker, member] : members_) {
    if (!member.alive) continue;
    // Who hangs is found out; when nothing goes wrong any more it goes on.
    if (!member.frozen) Give(MemberHeard{worker}).IgnoreError();
    if (member.evaluator) evaluator = true;
    if (!member.evaluator && !member.frozen) ++trainers;
  }
  if (trainers < settings_.workers_min && rng_.Chance(1, 3)) {
    AddMember(/*evaluator=*/false);
  }
  if (!evaluator && rng_.Chance(1, 8)) AddMember(/*evaluator=*/true);
  if (faulty()) {
    if (Chance(faults_.server_lost)) {
      const int server = static_cast<int>(rng_.Below(options_.servers.size()));
      if (rng_.Chance(1, 2)) Give(ServerLeaves{server}).IgnoreError();
      Give(ServerLost{server, absl::UnavailableError("a server is gone")})
          .IgnoreError();
    }
    if (Chance(faults_.order)) GiveAnOrder();
    if (Chance(faults_.cancel)) {
      Give(CancelRun{absl::CancelledError("by an admin")}).IgnoreError();
    }
  }
  Later(absl::Seconds(1), [this] { EverySecond(); });
}

void VirtualRun::GiveAnOrder() {
  switch (rng_.Below(4)) {
    case 0:
      Give(PauseRun{rng_.Chance(1, 2) ? absl::ZeroDuration()
                                      : absl::Seconds(30)})
          .IgnoreError();
      return checker_.Paused();
    case 1: {
      const std::string& paradigm = Paradigms()[rng_.Below(Paradigms().size())];
      Give(SwitchRun{*ParseParadigm(paradigm), "by chance"}).IgnoreError();
      return;
    }
    case 2:
      settings_.stop.epochs = static_cast<int64_t>(1 + rng_.Below(4));
      settings_.batching =
          rng_.Chance(1, 2) ? Batching::kBalanced : Batching::kEven;
      settings_.checkpoint_interval = absl::Seconds(rng_.Below(4));
      Give(UpdateRun{settings_}).IgnoreError();
      return;
    default:
      Give(WriteCheckpoint{absl::StrCat("mine-", next_checkpoint_++)})
          .IgnoreError();
  }
}

void VirtualRun::On(const AssignMember& assign) {
  Does(assign.worker, 2000, [this, worker = assign.worker](Member& member) {
    if (faulty() && Chance(faults_.member_cannot)) {
      return Lose(worker, LossReason::kFailed);
    }
    WorkerModel model = model_;
    if (faulty() && Chance(faults_.member_cannot)) model.tensors.pop_back();
    if (member.evaluator) model.train_samples = 0;
    if (Give(MemberReady{worker, model}).ok()) return;
    if (member.alive) Lose(worker, LossReason::kDeparted);
  });
}

void VirtualRun::On(const BeginWork& begin) {
  members_.at(begin.worker).begun = true;
  if (!begin.initialize) return;
  Does(begin.worker, 500, [this, worker = begin.worker](Member&) {
    Give(WeightsInitialized{worker}).IgnoreError();
  });
}

void VirtualRun::On(const Grant& grant) {
  members_.at(grant.worker).grant = grant;
  const Iteration iteration = grant.iteration;
  Does(
      grant.worker, 200,
      [this, worker = grant.worker, iteration](Member& member) {
        // It was told to push a part of it, or to drop it.
        if (!member.grant.has_value() || member.grant->iteration != iteration) {
          return;
        }
        if (member.grant->plan.kind != PushPlan::Kind::kAsk) {
          return Push(worker, member, member.grant->plan);
        }
        const absl::Status asked = Give(WorkerAsks{worker, iteration});
        if (!asked.ok() && member.alive) checker_.Break(asked.ToString());
      });
}

void VirtualRun::On(const PlanCommand& plan) {
  Does(plan.worker, 20, [this, plan](Member& member) {
    if (!member.grant.has_value() ||
        member.grant->iteration != plan.iteration) {
      return;
    }
    Push(plan.worker, member, plan.plan);
  });
}

void VirtualRun::Push(WorkerId worker, Member& member, const PushPlan& plan) {
  const Grant grant = *std::exchange(member.grant, std::nullopt);
  PushReport report;
  report.iteration = grant.iteration;
  report.samples = grant.range.size();
  // Now and then the tail of the range is not used.
  if (report.samples > 1 && rng_.Chance(1, 8)) --report.samples;
  report.blocks = kBlocks * static_cast<uint32_t>(options_.servers.size());
  report.discarded = plan.kind == PushPlan::Kind::kDiscard;
  const absl::Status pushed = Give(WorkerPushed{worker, report});
  if (!pushed.ok() && member.alive && !checker_.ended()) {
    checker_.Break(pushed.ToString());
  }
}

void VirtualRun::On(const RefreshCommand& refresh) {
  Does(refresh.worker, 20, [this, refresh](Member& member) {
    if (!member.grant.has_value() ||
        member.grant->iteration != refresh.iteration ||
        member.grant->plan.kind == PushPlan::Kind::kAsk) {
      return;
    }
    Push(refresh.worker, member, member.grant->plan);
  });
}

void VirtualRun::On(const AbandonCommand& abandon) {
  Does(abandon.worker, 20, [this, abandon](Member& member) {
    if (!member.grant.has_value() ||
        member.grant->iteration != abandon.iteration) {
      return;
    }
    member.grant.reset();
    Give(WorkerAbandoned{abandon.worker, abandon.iteration}).IgnoreError();
  });
}

void VirtualRun::On(const EvaluateSnapshot& evaluate) {
  Does(evaluate.worker, 1000, [this, evaluate](Member&) {
    MemberEvaluated in;
    in.worker = evaluate.worker;
    in.snapshot = evaluate.snapshot;
    in.accuracy = 0.5;
    if (faulty() && Chance(faults_.snapshot_refused)) {
      in.status = absl::NotFoundError("nobody has it");
    }
    Give(in).IgnoreError();
  });
}

void VirtualRun::On(const MemberLetGo& gone) {
  members_.at(gone.worker).alive = false;
}

void VirtualRun::On(const NumberedCommand& command) {
  for (size_t i = 0; i < options_.servers.size(); ++i) {
    if (faulty() && Chance(faults_.server_hangs)) server_hangs_[i] = true;
    if (server_hangs_[i]) continue;
    server_free_[i] = std::max(server_free_[i], now_) + Draw(20);
    events_.emplace(server_free_[i], [this, command, i] {
      if (!checker_.ended()) Answer(static_cast<int>(i), command);
    });
  }
}

void VirtualRun::Answer(int server, const NumberedCommand& command) {
  CommandDone done;
  done.server = server;
  done.sequence = command.sequence;
  if (const auto* fence = std::get_if<FenceIncarnation>(&command.command)) {
    const Member& lost = members_.at(by_incarnation_.at(fence->incarnation));
    FenceAnswer answer;
    answer.server = server;
    answer.blocks = kBlocks;
    if (lost.taken > 0 && lost.grant.has_value() &&
        lost.grant->plan.kind != PushPlan::Kind::kAsk &&
        lost.grant->plan.kind != PushPlan::Kind::kDiscard) {
      answer.iteration = lost.grant->iteration;
      answer.blocks_taken = static_cast<uint32_t>(lost.taken);
      answer.samples = lost.grant->range.size();
    }
    done.fence = answer;
  }
  if (std::holds_alternative<SnapshotCommand>(command.command) && faulty() &&
      Chance(faults_.snapshot_refused)) {
    done.status = absl::ResourceExhaustedError("no room");
  }
  Give(done).IgnoreError();
  const auto* write = std::get_if<WriteBlocks>(&command.command);
  if (write == nullptr) return;
  ServerWrote wrote;
  wrote.server = server;
  wrote.snapshot = write->snapshot;
  if (faulty() && Chance(faults_.checkpoint_fails)) {
    wrote.status = absl::ResourceExhaustedError("the disk is full");
  }
  Later(Draw(300), [this, wrote] {
    if (!checker_.ended()) Give(wrote).IgnoreError();
  });
}

void VirtualRun::On(const AdmitParameters&) {
  Later(Draw(20),
        [this] { Give(ParametersAdmitted{absl::OkStatus()}).IgnoreError(); });
}

void VirtualRun::On(const AskForEvaluator&) {
  bool exists = false;
  for (const auto& [worker, member] : members_) {
    exists = exists || (member.evaluator && member.alive);
  }
  Later(Draw(5),
        [this, exists] { Give(EvaluatorKnown{exists}).IgnoreError(); });
}

void VirtualRun::On(const CompleteCheckpoint& complete) {
  absl::Status status;
  if (faulty() && Chance(faults_.checkpoint_fails)) {
    status = absl::ResourceExhaustedError("the disk is full");
  }
  Later(Draw(100), [this, id = complete.order.id, status] {
    Give(ManifestWritten{id, status}).IgnoreError();
  });
}

}  // namespace paceline
