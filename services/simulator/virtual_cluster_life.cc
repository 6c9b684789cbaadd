// What a whole run of a VirtualCluster has besides its training.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/overloaded.h"
#include "services/simulator/virtual_cluster.h"

namespace paceline {
namespace {

constexpr Nanos kOneSecond = 1'000'000'000;

absl::Status WriteStatus(bool fails) {
  return fails ? absl::ResourceExhaustedError("the disk is full")
               : absl::OkStatus();
}

RunSettings DrawSettings(FaultDraws& draws, const RunSettings& settings) {
  RunSettings others = settings;
  others.stop.epochs = static_cast<int64_t>(1 + draws.Below(4));
  others.stop.samples =
      draws.Chance(1, 2) ? static_cast<int64_t>(1 + draws.Below(1000)) : 0;
  others.batching = draws.Chance(1, 2) ? Batching::kBalanced : Batching::kEven;
  others.checkpoint_interval = absl::Seconds(draws.Below(4));
  return others;
}

bool AnyAlive(const std::vector<VirtualEvaluator>& evaluators) {
  return std::ranges::any_of(evaluators, &VirtualEvaluator::alive);
}

// What people order in this second.
std::vector<RunInput> DrawOrders(FaultDraws& draws, const Faults& faults,
                                 const RunSettings& settings, Nanos now) {
  std::vector<RunInput> orders;
  if (draws.Happens(faults.pause, now)) {
    orders.emplace_back(PauseRun{draws.Chance(1, 2) ? absl::ZeroDuration()
                                                    : absl::Seconds(30)});
  }
  if (draws.Happens(faults.resume, now)) orders.emplace_back(ResumeRun{});
  if (draws.Happens(faults.update, now)) {
    orders.emplace_back(UpdateRun{DrawSettings(draws, settings)});
  }
  if (draws.Happens(faults.checkpoint, now)) {
    const bool elsewhere = faults.disk_full > 0 && draws.Chance(1, 2);
    orders.emplace_back(WriteCheckpoint{absl::StrCat("mine-", now),
                                        elsewhere ? "/elsewhere" : ""});
  }
  if (draws.Happens(faults.change, now)) {
    const uint64_t chosen = draws.Below(faults.paradigms.size());
    orders.emplace_back(SwitchRun{faults.paradigms[chosen], "by chance",
                                  std::nullopt, draws.Chance(1, 2)});
  }
  if (draws.Happens(faults.cancel, now)) {
    orders.emplace_back(CancelRun{absl::CancelledError("by an admin")});
  }
  return orders;
}

}  // namespace

void VirtualCluster::BeginLife(const std::vector<bool>& there) {
  const Nanos coming = spec_.faults.coming;
  for (size_t i = 0; i < there.size(); ++i) {
    if (!there[i]) continue;
    Send(EventKind::kJoins, 0, draws_.Delay(coming), static_cast<int64_t>(i));
  }
  // None, one, or a second that waits for the first to go.
  for (uint64_t i = draws_.Below(3); i > 0; --i) {
    Send(EventKind::kEvaluatorComes, 0, draws_.Delay(coming));
  }
  Send(EventKind::kFilesOpened, 0, draws_.Delay(coming));
  Send(EventKind::kSecondOver, 0, kOneSecond);
}

void VirtualCluster::PerformLife(const RunOutput& output) {
  const Faults& faults = spec_.faults;
  std::visit(
      Overloaded{[&](const AssignMember& o) {
                   const uint32_t id = ToNumber(o.worker);
                   Next(id, EventKind::kLoaded,
                        now_ + LatencyOf(id) + draws_.Delay(faults.loading));
                 },
                 [&](const BeginWork& o) {
                   const uint32_t id = ToNumber(o.worker);
                   if (!o.initialize || !MemberOf(id).alive) return;
                   Next(id, EventKind::kInitialized,
                        now_ + LatencyOf(id) +
                            draws_.Delay(faults.initializing));
                 },
                 [&](const EvaluateSnapshot& o) {
                   const uint32_t id = ToNumber(o.worker);
                   if (!MemberOf(id).alive) return;
                   EvaluatorOf(id).snapshot = o.snapshot;
                   Next(id, EventKind::kEvaluated,
                        now_ + draws_.Delay(faults.evaluating));
                 },
                 [&](const AdmitParameters&) {
                   Send(EventKind::kParametersAdmitted, 0,
                        now_ + draws_.Delay(faults.commanding));
                 },
                 [&](const AskForEvaluator&) {
                   Send(EventKind::kEvaluatorKnown, 0,
                        now_ + draws_.Delay(faults.commanding));
                 },
                 [&](const CompleteCheckpoint& o) {
                   Send(EventKind::kManifestWritten, 0,
                        now_ + draws_.Delay(faults.writing),
                        static_cast<int64_t>(asked_of_disk_.size()));
                   asked_of_disk_.push_back(o.order.id);
                 },
                 [&](const RemoveCheckpointFiles& o) {
                   Send(EventKind::kFilesRemoved, 0, now_,
                        static_cast<int64_t>(asked_of_disk_.size()));
                   asked_of_disk_.push_back(o.directory);
                 },
                 [](const auto&) {}},
      output);
}

void VirtualCluster::HandleLife(const TimedEvent& event) {
  const uint32_t number = event.worker;
  switch (event.kind) {
    case EventKind::kFilesOpened: {
      RunStart start = spec_.start;
      if (spec_.run.restored) start.tensors = ModelOf(spec_).tensors;
      return Give(FilesOpened{absl::OkStatus(), std::move(start)});
    }
    case EventKind::kParametersAdmitted:
      return Give(ParametersAdmitted{});
    case EventKind::kLoaded:
      if (!Hindered(event)) Loaded(number);
      return;
    case EventKind::kInitialized:
      if (!Hindered(event)) Give(WeightsInitialized{WorkerId{number}});
      return;
    case EventKind::kEvaluated:
      if (!Hindered(event)) Evaluated(number);
      return;
    case EventKind::kBlockLeaves:
      if (Hindered(event)) return;
      return BlockLeaves(number, BlockAddress::Of(event.argument));
    case EventKind::kBlockArrives:
      return BlockArrives(number, BlockAddress::Of(event.argument));
    case EventKind::kAcknowledged:
      if (Hindered(event)) return;
      workers_[number].acknowledged = true;
      return Next(number, EventKind::kPushDone, ArrivalFromMember(number));
    case EventKind::kReportRepeated:
      return Give(WorkerPushed{WorkerId{number}, workers_[number].reported});
    case EventKind::kPartWritten:
      if (!servers_[number].EndWriting(event.argument)) return;
      return Give(ServerWrote{.shard = static_cast<int>(number),
                              .snapshot = event.argument,
                              .status = WriteStatus(draws_.WriteFails(now_)),
                              .file = {}});
    case EventKind::kManifestWritten:
      return Give(ManifestWritten{asked_of_disk_[event.argument],
                                  WriteStatus(draws_.WriteFails(now_))});
    case EventKind::kFilesRemoved:
      return Give(FilesRemoved{asked_of_disk_[event.argument]});
    case EventKind::kEvaluatorKnown:
      return Give(EvaluatorKnown{AnyAlive(evaluators_)});
    case EventKind::kEvaluatorComes:
      return EvaluatorComes();
    case EventKind::kCoordinatorDies:
      return RestartCoordinator();
    case EventKind::kServerReturns:
      return ServerReturns(number);
    case EventKind::kSecondOver:
      return EverySecond();
    default:
      return HandleServer(event);
  }
}

bool VirtualCluster::Hindered(const TimedEvent& event) {
  if (!spec_.whole_run) return false;
  const uint32_t id = event.worker;
  VirtualMember& member = MemberOf(id);
  if (!member.alive || course_->stage() == RunStage::kEnded) return true;
  if (member.awake_at <= now_) {
    const Faults& faults = spec_.faults;
    if (draws_.MemberDies(now_)) {
      // Silence, or a stream that breaks.
      LoseMember(id, draws_.Chance(1, 3) ? LossReason::kLeaseEnded
                                         : LossReason::kStreamBroken);
    } else if (Happens(faults.member_leaves)) {
      LoseMember(id, LossReason::kDeparted);
    } else if (Happens(faults.member_freezes)) {
      member.awake_at =
          now_ + draws_.Delay(3 * absl::ToInt64Nanoseconds(spec_.run.lease));
    }
  }
  if (member.awake_at > now_) queue_.PutOff(event, member.awake_at);
  return !member.alive || member.awake_at > now_;
}

void VirtualCluster::LoseMember(uint32_t id, LossReason reason) {
  const bool evaluator = IsEvaluator(id);
  if (reason == LossReason::kDeparted && !evaluator) return Leave(id);
  if (evaluator) {
    EvaluatorOf(id).alive = false;
  } else {
    Crash(id);
  }
  if (reason == LossReason::kLeaseEnded) return;
  Give(MemberGone{WorkerId{id}, reason,
                  reason == LossReason::kFailed
                      ? absl::DataLossError("the data are damaged")
                      : absl::OkStatus()});
}

void VirtualCluster::Loaded(uint32_t id) {
  if (Happens(spec_.faults.member_cannot)) {
    return LoseMember(id, LossReason::kFailed);
  }
  WorkerModel model = ModelOf(spec_);
  if (Happens(spec_.faults.member_cannot)) model.tensors.pop_back();
  if (IsEvaluator(id)) model.train_samples = 0;
  if (Offer(MemberReady{WorkerId{id}, model, WishesOf(id)}).ok()) return;
  if (MemberOf(id).alive) LoseMember(id, LossReason::kDeparted);
}

void VirtualCluster::EvaluatorComes() {
  if (course_->stage() == RunStage::kEnded) return;
  const uint32_t id =
      ToNumber(kEvaluator) - static_cast<uint32_t>(evaluators_.size());
  evaluators_.emplace_back();
  Give(MemberCame{.worker = WorkerId{id},
                  .name = absl::StrCat("e", evaluators_.size()),
                  .incarnation = IncarnationOf(id),
                  .evaluator = true});
}

void VirtualCluster::Evaluated(uint32_t id) {
  const int64_t snapshot = EvaluatorOf(id).snapshot;
  const auto result = results_.find(snapshot);
  // It asks again for what not every server has yet.
  if (result == results_.end()) {
    return Next(id, EventKind::kEvaluated, now_ + kOneSecond);
  }
  MemberEvaluated evaluated = result->second;
  evaluated.worker = WorkerId{id};
  if (Happens(spec_.faults.snapshot_refused)) {
    evaluated.status = absl::NotFoundError("nobody has it");
  }
  Give(evaluated);
}

void VirtualCluster::EverySecond() {
  if (course_->stage() == RunStage::kEnded) return;
  size_t trainers = 0;
  std::optional<size_t> missing;
  for (size_t i = 0; i < latest_.size(); ++i) {
    const bool there = latest_[i] >= 0 && workers_[latest_[i]].alive;
    if (!there) missing = missing.value_or(i);
    if (there && workers_[latest_[i]].awake_at <= now_) ++trainers;
  }
  if (trainers < course_->settings().workers_min && missing.has_value() &&
      draws_.Chance(1, 3)) {
    Join(*missing);
  }
  if (!AnyAlive(evaluators_) && draws_.Chance(1, 8)) EvaluatorComes();
  const Faults& faults = spec_.faults;
  if (Happens(faults.server_lost)) {
    const auto server = static_cast<int>(draws_.Below(servers_.size()));
    if (draws_.Chance(1, 2)) Give(ServerLeaves{server});
    Give(ServerLost{server, absl::UnavailableError("a server is gone")});
  }
  if (Happens(faults.coordinator_dies)) RestartCoordinator();
  if (Happens(faults.disk_full)) draws_.FillDisk(now_);
  for (const RunInput& order :
       DrawOrders(draws_, faults, course_->settings(), now_)) {
    Give(order);
  }
  Send(EventKind::kSecondOver, 0, now_ + kOneSecond);
}

void VirtualCluster::RestartCoordinator() {
  CHECK(!replicated());
  // What has not begun to train begins anew.
  if (course_->stage() < RunStage::kTraining || course_->core() == nullptr ||
      course_->stage() == RunStage::kEnded) {
    return;
  }
  const std::unique_ptr<RunCourse> died = std::exchange(course_, NewCourse());
  std::vector<RunOutput> outputs;  // They were performed.
  for (const auto& [at, input] : inputs_) {
    course_->Step(ToTime(at), input, outputs).IgnoreError();
  }
  CHECK(course_->stage() == died->stage() &&
        course_->NextDeadline() == died->NextDeadline() &&
        core().samples_counted() == died->core()->samples_counted() &&
        core().version() == died->core()->version());
  CoordinatorRestarted restarted;
  // What is on its way to those who go on arrives as if nothing had happened.
  for (const WorkerId worker : course_->members().Present()) {
    const bool goes_on =
        MemberOf(ToNumber(worker)).alive && draws_.Chance(3, 4);
    if (goes_on) restarted.awaited.insert(worker);
  }
  for (uint32_t i = 0; i < servers_.size(); ++i) {
    servers_[i].Lose();
    Send(EventKind::kServerReturns, i,
         now_ + draws_.Delay(absl::ToInt64Nanoseconds(spec_.run.lease) / 2));
  }
  Give(restarted);
}

VirtualEvaluator& VirtualCluster::EvaluatorOf(uint32_t id) {
  return evaluators_[ToNumber(kEvaluator) - id];
}

VirtualMember& VirtualCluster::MemberOf(uint32_t id) {
  if (IsEvaluator(id)) return EvaluatorOf(id);
  return workers_[id];
}

}  // namespace paceline
