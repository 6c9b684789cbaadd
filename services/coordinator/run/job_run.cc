#include "services/coordinator/run/job_run.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <variant>

#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/checkpoint/checkpoint_folder.h"
#include "common/log/log.h"
#include "common/plain_name.h"
#include "common/status.h"
#include "common/utf8.h"
#include "services/coordinator/run/checkpoint_files.h"
#include "services/coordinator/run/wire.h"

namespace paceline {
namespace {

CourseOptions OptionsOf(const RunSetup& setup) {
  CourseOptions options = ToCourseOptions(setup.plan);
  options.run = static_cast<uint16_t>(setup.run & 0xffff);
  options.lease = setup.lease;
  for (const ServerLink& server : setup.servers) {
    options.servers.push_back(server.name);
  }
  options.checkpoint_root = setup.checkpoint_root;
  options.checkpoint_fallbacks = setup.checkpoint_fallbacks;
  options.restored =
      !setup.restore_from.empty() || !setup.plan.spec.initial_weights().empty();
  return options;
}

double UnixSeconds() {
  return absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch());
}

std::string StopReason(const RunOutcome& outcome) {
  const std::string why(outcome.status.message());
  if (outcome.status.ok()) return "the job has ended";
  if (absl::IsCancelled(outcome.status) || outcome.left_unsaved) return why;
  return absl::StrCat("the job failed: ", why);
}

}  // namespace

JobRun::JobRun(RunSetup setup, const Clock* clock,
               std::shared_ptr<RunObserver> observer,
               std::shared_ptr<JobMetrics> metrics)
    : RunDriver(clock, OptionsOf(setup), ToRunSettings(setup.plan)),
      setup_(std::move(setup)),
      observer_(std::move(observer)),
      metrics_(std::move(metrics)),
      spec_(setup_.plan.spec),
      incarnations_(setup_.run),
      record_(setup_.plan.spec.paradigm(), setup_.plan.spec.stop()),
      disk_(setup_.lanes,
            [this](const RunInput& answer) { Step(answer).IgnoreError(); }) {
  StartThreads();
}

JobRun::~JobRun() {
  disk_.Close();
  StopThreads();
}

void JobRun::Start() {
  absl::MutexLock lock(&mu_);
  Tell([this] { OpenFiles(); });
}

void JobRun::OpenFiles() {
  FilesOpened opened;
  if (!setup_.trace_file.empty()) {
    auto trace = TraceWriter::Create(setup_.trace_file);
    opened.status = trace.status();
    if (trace.ok()) trace_ = *std::move(trace);
  }
  const bool weights_only = setup_.restore_from.empty();
  const std::string from =
      weights_only ? setup_.plan.spec.initial_weights() : setup_.restore_from;
  if (!opened.status.ok() || from.empty()) {
    Step(opened).IgnoreError();
    return;
  }
  disk_.Ask(from,
            [from, weights_only](const absl::Status& refused) -> RunInput {
              if (!refused.ok()) return FilesOpened{refused, {}};
              auto start =
                  weights_only ? ReadInitialWeights(from) : ReadRunStart(from);
              if (!start.ok()) return FilesOpened{start.status(), {}};
              return FilesOpened{absl::OkStatus(), *std::move(start)};
            });
}

std::optional<RunOutcome> JobRun::outcome() const {
  absl::MutexLock lock(&mu_);
  return outcome_;
}

absl::Status JobRun::OnWorkerConnected(
    std::shared_ptr<const RunSession> session, const v1::WorkerHello& hello) {
  MemberCame came;
  came.worker = session->worker;
  came.name = hello.name();
  came.evaluator = hello.evaluator();
  LinkedMember member;
  member.session = std::move(session);
  member.name = hello.name();
  member.evaluator = hello.evaluator();
  member.pool = std::string(CutUtf8(hello.pool(), kPlainNameMax));
  member.gpu_model = std::string(
      CutUtf8(hello.gpu_model().empty() ? hello.device() : hello.gpu_model(),
              kPlainNameMax));
  {
    absl::MutexLock lock(&mu_);
    came.incarnation = incarnations_.Next();
  }
  return Step(came, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    members_.emplace(came.worker, std::move(member));
  });
}

absl::Status JobRun::OnWorkerMessage(WorkerId worker,
                                     const v1::WorkerMessage& message) {
  PACELINE_ASSIGN_OR_RETURN(const RunInput input, ToInput(worker, message));
  return Step(input, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    // What comes after the end is accepted and says nothing.
    if (message.has_push_done() && !ended_) {
      CountReport(worker, message.push_done());
    }
  });
}

void JobRun::CountReport(WorkerId worker, const v1::PushDone& report) {
  const std::string name = course_.members().NameOf(worker);
  record_.Reported(name, report);
  metrics_->gate_wait_seconds->Observe(report.seconds().wait());
  metrics_->blocks_refused->Increment(report.blocks_refused());
  if (setup_.trace_file.empty()) return;
  Tell([this, name, report] {
    if (trace_ != nullptr) trace_->Write(name, report);
  });
}

void JobRun::OnWorkerDisconnected(WorkerId worker) {
  Step(MemberGone{worker, LossReason::kStreamBroken, absl::OkStatus()})
      .IgnoreError();
}

void JobRun::ReleaseWorker(WorkerId worker, absl::string_view reason,
                           absl::StatusCode code) {
  // The course hears of it when the worker leaves.
  Step(TimePassed{}, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    v1::WorkerCommand command;
    command.mutable_stop()->set_reason(std::string(reason));
    command.mutable_stop()->set_code(static_cast<int>(code));
    SendToWorker(worker, std::move(command));
  }).IgnoreError();
}

std::optional<int> JobRun::IndexOf(uint64_t server) const {
  for (size_t i = 0; i < setup_.servers.size(); ++i) {
    if (setup_.servers[i].member == server) return static_cast<int>(i);
  }
  return std::nullopt;
}

std::vector<uint64_t> JobRun::Servers() const {
  std::vector<uint64_t> members;
  for (const ServerLink& link : setup_.servers) members.push_back(link.member);
  return members;
}

absl::Status JobRun::OnServerMessage(uint64_t member,
                                     const v1::ServerMessage& message) {
  const std::optional<int> server = IndexOf(member);
  if (!server.has_value()) {
    return absl::InvalidArgumentError("the server is none of this run");
  }
  PACELINE_ASSIGN_OR_RETURN(
      const RunInput input,
      ToInput(*server, setup_.servers[*server].name, message));
  return Step(input);
}

void JobRun::OnServerDisconnected(uint64_t member) {
  const std::optional<int> server = IndexOf(member);
  if (!server.has_value()) return;
  Step(
      ServerLost{*server, absl::UnavailableError(absl::StrCat(
                              "parameter server ", setup_.servers[*server].name,
                              " is gone, and its part of the model is lost"))})
      .IgnoreError();
}

void JobRun::OnServerLeaving(uint64_t member) {
  const std::optional<int> server = IndexOf(member);
  if (!server.has_value()) return;
  Step(ServerLeaves{*server}).IgnoreError();
}

void JobRun::Cancel(const absl::Status& reason) {
  Step(CancelRun{reason}).IgnoreError();
}

void JobRun::Pause(absl::Duration evaluate_for) {
  Step(PauseRun{evaluate_for}).IgnoreError();
}

absl::Status JobRun::Resume() { return Step(ResumeRun{}); }

void JobRun::Update(const JobPlan& plan) {
  const v1::JobSpec& spec = plan.spec;
  Step(UpdateRun{ToRunSettings(plan)}, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(
                                           mu_) {
    spec_.set_learning_rate(spec.learning_rate());
    spec_.set_batching(spec.batching());
    *spec_.mutable_workers() = spec.workers();
    *spec_.mutable_stop() = spec.stop();
    *spec_.mutable_checkpoints() = spec.checkpoints();
    record_.SetStop(spec.stop());
  }).IgnoreError();
}

absl::Status JobRun::Switch(const ParadigmSpec& paradigm,
                            absl::string_view reason) {
  return Step(SwitchRun{paradigm, std::string(reason)},
              [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
                spec_.set_paradigm(FormatParadigm(paradigm));
                if (course_.core() == nullptr) {
                  record_.SetParadigm(spec_.paradigm());
                }
              });
}

absl::Status JobRun::WriteCheckpoint(const std::string& id,
                                     const std::string& folder) {
  return Step(paceline::WriteCheckpoint{id, folder});
}

v1::JobProgress JobRun::Progress() const {
  absl::MutexLock lock(&mu_);
  return ProgressAt(clock_->Now());
}

v1::JobProgress JobRun::ProgressAt(absl::Time now) const {
  v1::JobProgress progress;
  progress.set_paradigm(course_.paradigm());
  std::map<WorkerId, std::string> names;
  for (const WorkerId worker : course_.members().Present()) {
    const RunMember& member = *course_.members().Find(worker);
    if (member.trainer()) names.emplace(worker, member.name);
  }
  record_.Progress(ViewOf(course_.core()), names, now, progress);
  if (course_.stage() < RunStage::kTraining) {
    progress.set_phase("loading");
  } else {
    progress.set_phase(course_.stage() < RunStage::kEvaluating ? "training"
                                                               : "evaluating");
  }
  return progress;
}

std::string JobRun::Report() const {
  std::optional<RunRecord> record;
  TrainingView view;
  {
    absl::MutexLock lock(&mu_);
    if (course_.core() == nullptr) return "";
    record = record_;
    view = ViewOf(course_.core());
  }
  // A long job's document takes long; grants do not wait for it.
  return record->Result(view).dump();
}

int64_t JobRun::DoneBy(const std::string& name, bool evaluator) const {
  absl::MutexLock lock(&mu_);
  return evaluator
             ? static_cast<int64_t>(course_.evaluations().accuracy().size())
             : record_.SamplesOf(name);
}

bool JobRun::WantsEvaluator() const {
  absl::MutexLock lock(&mu_);
  return course_.evaluations().wants_evaluator();
}

bool JobRun::Loading() const {
  absl::MutexLock lock(&mu_);
  return course_.stage() < RunStage::kTraining;
}

bool JobRun::TrainingEnds() const {
  absl::MutexLock lock(&mu_);
  const SyncCore* const core = course_.core();
  return core != nullptr && core->finished();
}

bool JobRun::TrainingOver() const {
  absl::MutexLock lock(&mu_);
  return course_.stage() >= RunStage::kEvaluating || course_.saving_delayed();
}

bool JobRun::NeedsServers() const {
  absl::MutexLock lock(&mu_);
  return course_.stage() < RunStage::kEvaluating && !given_up_;
}

int64_t JobRun::BytesPerServer() const {
  absl::MutexLock lock(&mu_);
  return course_.model().Elements() * static_cast<int64_t>(sizeof(float)) /
         static_cast<int64_t>(setup_.servers.size());
}

void JobRun::SendToWorker(WorkerId worker, v1::WorkerCommand command) {
  const auto it = members_.find(worker);
  if (it == members_.end()) return;
  Send([session = it->second.session, command = std::move(command)]() mutable {
    if (const auto stream = session->Stream()) stream->Send(std::move(command));
  });
}

void JobRun::TellDecision(absl::Time at, std::string whom, std::string kind,
                          std::string text, int64_t omitted, bool costs_work) {
  if (backlogged()) return filter_.LeaveOut(kind, omitted + 1);
  v1::Decision decision;
  decision.set_seconds(course_.SecondsAt(at));
  decision.set_worker(std::move(whom));
  decision.set_kind(std::move(kind));
  decision.set_text(std::move(text));
  decision.set_omitted(omitted);
  Tell([this, decision = std::move(decision), costs_work] {
    const nlohmann::json fields = {{"job", setup_.job_name},
                                   {"worker", decision.worker()},
                                   {"decision", decision.kind()}};
    if (costs_work) {
      LogWarning(decision.text(), fields);
    } else {
      LogInfo(decision.text(), fields);
    }
    observer_->Decided(decision);
  });
}

template <>
void JobRun::On(const Grant& grant) {
  SendToWorker(grant.worker, ToWire(grant));
  record_.Granted(course_.members().NameOf(grant.worker));
  metrics_->grants->Increment();
  metrics_->samples_granted->Increment(grant.range.size());
}

template <>
void JobRun::On(const PushCounted& counted) {
  record_.Counted(course_.members().NameOf(counted.worker), counted, now_);
  metrics_->pushes->Increment();
  metrics_->version->Set(static_cast<double>(counted.version));
  metrics_->samples_counted->Increment(counted.samples);
  metrics_->samples_discarded->Increment(counted.discarded);
  metrics_->gap->Observe(static_cast<double>(counted.gap));
  metrics_->staleness->Observe(static_cast<double>(counted.staleness));
  metrics_->last_push_timestamp_seconds->Set(UnixSeconds());
}

template <>
void JobRun::On(const Evicted& evicted) {
  record_.Lost(course_.members().NameOf(evicted.worker));
  metrics_->workers_lost.at(evicted.reason)->Increment();
  if (evicted.reason != LossReason::kNotFinite) return;
  // It lives, and does not know.
  v1::WorkerCommand command;
  command.mutable_stop()->set_reason(
      "its pushes are not finite, those of other workers are");
  command.mutable_stop()->set_code(
      static_cast<int>(absl::StatusCode::kOutOfRange));
  SendToWorker(evicted.worker, std::move(command));
}

template <>
void JobRun::On(const Switched& switched) {
  record_.Switched(switched);
  metrics_->Switched(switched.from, switched.to);
  Tell([this, to = switched.to] { observer_->ParadigmSwitched(to); });
  TellDecision(
      switched.at, "job", "switch",
      absl::StrCat("switched from ", switched.from, " to ", switched.to, " (",
                   switched.reason, ") at version ", switched.version, ", ",
                   switched.samples, " samples"),
      /*omitted=*/0, /*costs_work=*/false);
}

template <>
void JobRun::On(const SwitchSettled& settled) {
  record_.Settled(settled);
}

template <>
void JobRun::On(const Recorded& recorded) {
  const Decision& decision = recorded.decision;
  metrics_->decisions.at(decision.kind)->Increment();
  // Decisions about the job as a whole name no worker.
  const std::string worker = decision.worker == WorkerId{0}
                                 ? "job"
                                 : course_.members().NameOf(decision.worker);
  record_.Decided(worker, decision);
  const auto kept = filter_.Offer(decision.kind, recorded.at);
  if (!kept.has_value()) return;
  TellDecision(recorded.at, worker, kept->category, Render(decision),
               kept->omitted, CostsWork(decision));
}

template <>
void JobRun::On(const Notice& notice) {
  // A member that fails, or accuracy that nobody will know.
  TellDecision(now_, notice.whom, notice.kind, notice.text, /*omitted=*/0,
               /*costs_work=*/true);
}

template <>
void JobRun::On(const AssignMember& assign) {
  const RunMembers& members = course_.members();
  v1::WorkerCommand command;
  v1::Assignment& wire = *command.mutable_assign();
  wire.set_incarnation(members.IncarnationOf(assign.worker));
  wire.set_run(setup_.run);
  *wire.mutable_job() = spec_;
  wire.set_job_name(setup_.job_name);
  wire.set_traceparent(setup_.traceparent);
  wire.set_lease_ms(
      static_cast<uint32_t>(absl::ToInt64Milliseconds(setup_.lease)));
  SendToWorker(assign.worker, std::move(command));
  if (backlogged()) return;
  Tell([this, name = members.NameOf(assign.worker)] {
    LogInfo("assigned", {{"worker", name}, {"job", setup_.job_name}});
  });
}

template <>
void JobRun::On(const BeginWork& begin) {
  v1::WorkerCommand command;
  v1::BeginJob& wire = *command.mutable_begin();
  *wire.mutable_shards() = {shards_.begin(), shards_.end()};
  wire.set_initialize(begin.initialize);
  SendToWorker(begin.worker, std::move(command));
}

template <>
void JobRun::On(const MemberLetGo& gone) {
  const auto it = members_.find(gone.worker);
  if (it == members_.end()) return;
  const auto session = std::move(it->second.session);
  members_.erase(it);
  // With OK it is free, and the stream stays.
  if (gone.status.ok()) return;
  Send([session, status = gone.status] {
    if (const auto stream = session->Stream()) stream->Close(status);
  });
  if (backlogged()) return;
  Tell([this, name = course_.members().NameOf(gone.worker),
        why = std::string(gone.status.message())] {
    LogWarning("let go",
               {{"worker", name}, {"job", setup_.job_name}, {"reason", why}});
  });
}

template <>
void JobRun::On(const NumberedCommand& command) {
  if (std::holds_alternative<HostBlocks>(command.command)) {
    std::vector<std::string> addresses;
    for (const ServerLink& server : setup_.servers) {
      addresses.push_back(server.address);
    }
    shards_ = ToShards(addresses, course_.model().tensors, course_.blocks());
  } else if (std::holds_alternative<CloseCommand>(command.command)) {
    metrics_->closings->Increment();
    if (last_close_.has_value()) {
      metrics_->round_seconds->Observe(
          absl::ToDoubleSeconds(now_ - *last_close_));
    }
    last_close_ = now_;
  } else if (std::holds_alternative<SnapshotCommand>(command.command)) {
    metrics_->snapshots->Increment();
  }
  const size_t servers = setup_.servers.size();
  for (size_t i = 0; i < servers; ++i) {
    v1::ServerCommand wire = ToWire(command, i, servers);
    wire.set_run(setup_.run);
    if (wire.has_host()) {
      v1::HostJob& host = *wire.mutable_host();
      *host.mutable_job() = setup_.plan.spec;
      for (const ModelTensor& tensor : course_.model().tensors) {
        *host.add_tensors() = ToWire(tensor);
      }
      *host.mutable_blocks() = shards_[i].blocks();
      // A job that has a checkpoint of its own goes on from that.
      const bool weights_only = setup_.restore_from.empty();
      host.set_restore_from(weights_only ? setup_.plan.spec.initial_weights()
                                         : setup_.restore_from);
      host.set_weights_only(weights_only && !host.restore_from().empty());
      host.set_traceparent(setup_.traceparent);
    }
    Send([peer = setup_.servers[i].stream, wire = std::move(wire)]() mutable {
      if (const auto stream = peer.lock()) stream->Send(std::move(wire));
    });
  }
}

template <>
void JobRun::On(const AdmitParameters& admit) {
  Tell([this, bytes = admit.bytes] {
    Step(ParametersAdmitted{setup_.admit_parameters(bytes)}).IgnoreError();
  });
}

template <>
void JobRun::On(const AskForEvaluator&) {
  if (backlogged()) return;  // It is asked again soon.
  Tell([this] { Step(setup_.find_evaluator()).IgnoreError(); });
}

template <>
void JobRun::On(const CompleteCheckpoint& write) {
  v1::JobSpec spec = spec_;
  // That of a planned switch, too.
  spec.set_paradigm(course_.paradigm());
  Tell([this, order = write.order, spec = std::move(spec),
        tensors = course_.model().tensors, blocks = course_.blocks()] {
    disk_.Ask(order.directory, [=, job = setup_.job_name](
                                   const absl::Status& refused) {
      return ManifestWritten{
          order.id, refused.ok() ? WriteCheckpointManifest(order, job, spec,
                                                           tensors, blocks)
                                 : refused};
    });
  });
}

template <>
void JobRun::On(const RemoveCheckpointFiles& remove) {
  // What some of the servers have written, and the coordinator, whose manifest
  // is on the same lane. There may be nothing.
  Tell([this, directory = remove.directory] {
    disk_.Ask(directory, [directory](const absl::Status& refused) {
      const absl::Status removed =
          refused.ok() ? RemoveCheckpoint(directory) : refused;
      if (!removed.ok() && !absl::IsNotFound(removed)) {
        LogWarning(removed.message());
      }
      return FilesRemoved{directory};
    });
  });
}

template <>
void JobRun::On(const TrainingStarted& started) {
  const absl::Time began = now_ - absl::Seconds(course_.SecondsAt(now_));
  record_.Begin(began, started.parameters, started.train_samples);
  metrics_->training_start_timestamp_seconds->Set(UnixSeconds());
  metrics_->workers_joined->Increment(static_cast<double>(started.workers));
  Tell([this, started] {
    observer_->Started(started.parameters, started.train_samples);
  });
}

template <>
void JobRun::On(const WorkerJoined&) {
  metrics_->workers_joined->Increment();
}

template <>
void JobRun::On(const ProgressDue&) {
  if (backlogged()) return;  // The next one says more, the end everything.
  Tell([this, progress = ProgressAt(now_), view = ViewOf(course_.core()),
        members = members_, every = course_.settings().checkpoint_interval] {
    metrics_->checkpoint_interval_seconds->Set(
        setup_.checkpoint_root.empty() ? 0 : absl::ToDoubleSeconds(every));
    ExportProgress(progress, view, members);
    observer_->Progressed(progress);
  });
}

template <>
void JobRun::On(const SnapshotEvaluated& evaluated) {
  record_.Evaluated(evaluated.point);
  Tell(
      [this, point = ToWire(evaluated.point)] { observer_->Evaluated(point); });
}

template <>
void JobRun::On(const CheckpointChanged& changed) {
  if (changed.state == CheckpointChanged::State::kWriting) {
    metrics_->checkpoints->Increment();
  }
  Tell([this, changed] { TellCheckpoint(changed); });
}

template <>
void JobRun::On(const Warning& warning) {
  Tell([this, text = warning.text] {
    if (!text.empty()) LogWarning(text, {{"job", setup_.job_name}});
    observer_->Warned(text);
  });
}

template <>
void JobRun::On(const SavingDelayed& delayed) {
  Tell([this, delayed] { observer_->SavingWasDelayed(delayed); });
}

template <>
void JobRun::On(const SavingSucceeded&) {
  Tell([this] { observer_->SavingHasSucceeded(); });
}

template <>
void JobRun::On(const TrainingEnded&) {
  metrics_->training_start_timestamp_seconds->Set(0);
  On(ProgressDue{});
}

template <>
void JobRun::On(const TrainingResumed&) {
  const absl::Time began = now_ - absl::Seconds(course_.SecondsAt(now_));
  record_.Begin(began, course_.model().Parameters(),
                course_.model().train_samples);
  metrics_->training_start_timestamp_seconds->Set(UnixSeconds());
  On(ProgressDue{});
}

template <>
void JobRun::On(const RunEnded& ended) {
  ended_ = true;
  v1::WorkerCommand stop;
  stop.mutable_stop()->set_reason(StopReason(ended.outcome));
  // Nobody has done anything wrong where it was cancelled, or only not saved.
  const absl::Status& status = ended.outcome.status;
  if (!absl::IsCancelled(status) && !ended.outcome.left_unsaved) {
    stop.mutable_stop()->set_code(static_cast<int>(status.code()));
  }
  for (const auto& [worker, member] : members_) {
    SendToWorker(worker, stop);
  }
  v1::ServerCommand unhost;
  unhost.set_run(setup_.run);
  unhost.mutable_unhost()->set_reason(stop.stop().reason());
  for (const ServerLink& server : setup_.servers) {
    Send([peer = server.stream, unhost] {
      if (const auto stream = peer.lock()) stream->Send(unhost);
    });
  }
  // The last evaluation's accuracy is what stays to be seen. Who hears of the
  // end may take the members for others: they know of it by then.
  TellOnceSent([this, outcome = ended.outcome, progress = ProgressAt(now_),
                view = ViewOf(course_.core())]() mutable {
    ExportProgress(progress, view, {});
    TellEnd(std::move(outcome));
  });
}

template <class Value>
void JobRun::On(const Value& command) {
  SendToWorker(command.worker, ToWire(command));
}

void JobRun::Perform(absl::Time now, absl::Span<const RunOutput> outputs) {
  now_ = now;
  for (const RunOutput& output : outputs) {
    std::visit([&](const auto& what)
                   ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { On(what); },
               output);
  }
  CountHeld(outputs);
}

// Those whose push the step has counted without releasing them.
void JobRun::CountHeld(absl::Span<const RunOutput> outputs) {
  // At the end nobody is released.
  if (course_.core() == nullptr || course_.core()->finished()) return;
  absl::btree_set<WorkerId> held;
  for (const RunOutput& output : outputs) {
    if (const auto* const counted = std::get_if<PushCounted>(&output)) {
      held.insert(counted->worker);
    } else if (const auto* const grant = std::get_if<Grant>(&output)) {
      held.erase(grant->worker);
    }
  }
  for (const WorkerId worker : held) {
    // The last push of somebody who is lost holds nobody.
    const RunMember* const member = course_.members().Find(worker);
    if (member != nullptr) record_.Held(member->name);
  }
}

void JobRun::TellCheckpoint(const CheckpointChanged& changed) {
  if (changed.state == CheckpointChanged::State::kWriting) {
    return observer_->CheckpointChanged(
        ToCheckpoint(changed.order, v1::Checkpoint::WRITING, absl::OkStatus()),
        changed.again);
  }
  if (changed.failure.ok()) {
    metrics_->last_checkpoint_timestamp_seconds->Set(UnixSeconds());
  } else {
    metrics_->checkpoints_failed->Increment();
  }
  if (!changed.failure.ok() && !changed.again) {
    LogWarning("the checkpoint could not be written",
               {{"job", setup_.job_name},
                {"checkpoint", changed.order.id},
                {"reason", std::string(changed.failure.message())}});
  }
  v1::Checkpoint checkpoint = ToCheckpoint(
      changed.order,
      changed.failure.ok() ? v1::Checkpoint::READY : v1::Checkpoint::FAILED,
      changed.failure);
  const double took = absl::ToDoubleSeconds(changed.took);
  checkpoint.set_write_seconds(took);
  metrics_->checkpoint_seconds->Observe(took);
  observer_->CheckpointChanged(checkpoint, changed.again);
}

void JobRun::TellEnd(RunOutcome outcome) {
  // Before the result is told: a recording that was asked for is part of it.
  if (trace_ != nullptr) {
    outcome.status.Update(trace_->Close());
    if (!outcome.status.ok()) outcome.paused = false;
  }
  metrics_->workers->Set(0);
  metrics_->KeepWorkers({});
  metrics_->training_start_timestamp_seconds->Set(0);
  {
    absl::MutexLock lock(&mu_);
    outcome_ = std::move(outcome);
  }
  setup_.over();
}

void JobRun::ExportProgress(const v1::JobProgress& progress,
                            const TrainingView& view,
                            const std::map<WorkerId, LinkedMember>& members) {
  metrics_->samples->Set(static_cast<double>(progress.samples()));
  metrics_->samples_wanted->Set(static_cast<double>(progress.samples_total()));
  if (progress.has_accuracy()) metrics_->SetAccuracy(progress.accuracy());
  if (progress.has_loss()) metrics_->SetLoss(progress.loss());
  metrics_->SetMetrics({progress.metrics().begin(), progress.metrics().end()});
  metrics_->SetParadigm(progress.paradigm());
  size_t trainers = 0;
  std::map<std::string, std::pair<TrainingView::Worker, const LinkedMember*>>
      training;
  std::set<std::string> names;
  for (const auto& [worker, member] : members) {
    if (!member.evaluator) ++trainers;
  }
  metrics_->workers->Set(static_cast<double>(trainers));
  if (view.samples_total == 0) return;  // The training has not begun.
  metrics_->SetThreshold(view.policy.threshold);
  metrics_->SetGroups(view.policy.groups);
  for (const TrainingView::Worker& worker : view.workers) {
    const auto member = members.find(worker.worker);
    if (member == members.end()) continue;
    // Of two with one name the later stays.
    training[member->second.name] = {worker, &member->second};
    names.insert(member->second.name);
  }
  metrics_->KeepWorkers(names);
  for (const v1::WorkerProgress& measured : progress.workers()) {
    const auto found = training.find(measured.worker());
    if (found == training.end()) continue;
    const auto& [worker, member] = found->second;
    JobMetrics::Worker* const series =
        metrics_->OfWorker(measured.worker(), member->pool, member->gpu_model);
    if (series == nullptr) continue;
    series->samples_per_second->Set(measured.samples_per_second());
    series->straggler_score->Set(measured.straggler_score());
    series->straggler->Set(measured.straggler() ? 1 : 0);
    series->gap->Set(static_cast<double>(measured.gap()));
    series->batch->Set(worker.batch);
    series->lag->Set(static_cast<double>(worker.lag.value_or(0)));
  }
}

}  // namespace paceline
