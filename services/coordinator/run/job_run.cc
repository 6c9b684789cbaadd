#include "services/coordinator/run/job_run.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/log/log.h"
#include "common/status.h"
#include "services/coordinator/policy/placement.h"
#include "services/coordinator/policy/policy_spec.h"
#include "services/coordinator/run/model_check.h"
#include "services/coordinator/run/time_limits.h"

namespace paceline {
namespace {

constexpr absl::Duration kProgressInterval = absl::Milliseconds(500);
constexpr absl::Duration kPollInterval = absl::Milliseconds(50);

// When a job that stops at its target evaluates while others train.
constexpr uint32_t kSubsetSamples = 1000;

v1::Block ToWire(const BlockPlacement& placed, bool statistic) {
  v1::Block block;
  block.set_id(placed.block);
  block.set_tensor(placed.tensor);
  block.set_offset(placed.offset);
  block.set_size(placed.size);
  block.set_statistic(statistic);
  return block;
}

bool IsTrainer(const Member& member) { return !member.evaluator; }

size_t ReadyTrainers(const std::vector<Member>& present) {
  return std::count_if(present.begin(), present.end(), [](const Member& m) {
    return m.state == MemberState::kReady && IsTrainer(m);
  });
}

}  // namespace

JobRun::JobRun(RunSetup setup, const Clock* clock,
               std::shared_ptr<RunObserver> observer,
               std::shared_ptr<JobMetrics> metrics)
    : setup_(std::move(setup)),
      clock_(clock),
      observer_(std::move(observer)),
      metrics_(std::move(metrics)),
      roster_(setup_.run),
      servers_(setup_.run, setup_.servers, clock),
      record_(setup_.spec.paradigm(), setup_.spec.stop()),
      evaluations_(setup_.spec.evaluation().defer(), clock,
                   [this](WorkerId evaluator, int64_t snapshot, bool last) {
                     v1::WorkerCommand command;
                     command.mutable_evaluate()->set_snapshot(snapshot);
                     if (setup_.spec.stop().at_target() && !last) {
                       command.mutable_evaluate()->set_samples(kSubsetSamples);
                     }
                     roster_.Send(evaluator, std::move(command));
                   }),
      sink_({clock, &roster_, &servers_, &record_, &evaluations_,
             observer_.get(), metrics_.get(),
             !setup_.spec.evaluation().disabled()}),
      checkpoint_(&servers_),
      spec_(setup_.spec) {}

JobRun::~JobRun() = default;

RunOutcome JobRun::Run() {
  RunOutcome outcome;
  outcome.status = RunStages();
  Enter(Stage::kEnded);
  {
    absl::MutexLock lock(&mu_);
    // Before the result is told: a recording that was asked for is part of it.
    if (trace_ != nullptr) outcome.status.Update(trace_->Close());
  }
  const Engine* const trained = engine();
  const bool complete = trained != nullptr && trained->View().samples_counted >=
                                                  trained->View().samples_total;
  outcome.out_of_workers = out_of_workers_;
  outcome.paused =
      outcome.status.ok() && (pausing() || out_of_workers_) && !complete;
  outcome.checkpoint = last_checkpoint_;
  StopEverybody(outcome.status);
  return outcome;
}

absl::Status JobRun::RunStages() {
  PACELINE_RETURN_IF_ERROR(OpenFiles());
  for (const auto stage : {&JobRun::Assemble, &JobRun::CheckAgreement,
                           &JobRun::HostBlocks, &JobRun::InitializeWeights}) {
    PACELINE_RETURN_IF_ERROR((this->*stage)());
    // Nothing has been trained that a checkpoint would have to keep.
    if (pausing() || out_of_workers_) return absl::OkStatus();
  }
  StartEngine();
  if (out_of_workers_) return absl::OkStatus();
  PACELINE_RETURN_IF_ERROR(Train());
  PACELINE_RETURN_IF_ERROR(SaveResult());
  return Evaluate();
}

absl::Status JobRun::OpenFiles() {
  if (!setup_.restore_from.empty()) {
    PACELINE_ASSIGN_OR_RETURN(start_, ReadRunStart(setup_.restore_from));
  }
  if (setup_.trace_file.empty()) return absl::OkStatus();
  PACELINE_ASSIGN_OR_RETURN(auto trace, TraceWriter::Create(setup_.trace_file));
  absl::MutexLock lock(&mu_);
  trace_ = std::move(trace);
  return absl::OkStatus();
}

absl::Status JobRun::Assemble() {
  return WaitFor("the job's workers to be ready", kLoadingTimeout,
                 [&](absl::Duration timeout) {
                   if (pausing() || FellShort()) return true;
                   const size_t min = workers_min();
                   return roster_.Await(
                       [min](const std::vector<Member>& present) {
                         return ReadyTrainers(present) >= min;
                       },
                       timeout);
                 });
}

bool JobRun::FellShort() {
  const size_t min = workers_min();
  size_t trainers = 0;
  bool any_ready = false;
  for (const Member& member : roster_.Present()) {
    if (!IsTrainer(member)) continue;
    ++trainers;
    any_ready = any_ready || member.state != MemberState::kLoading;
  }
  const absl::Time now = clock_->Now();
  absl::MutexLock lock(&mu_);
  if (trainers >= min) {
    short_since_ = absl::InfiniteFuture();
    return false;
  }
  short_since_ = std::min(short_since_, now);
  if (now - short_since_ < lease()) return false;
  if (!any_ready && !unfit_.ok()) {
    if (failure_.ok()) failure_ = unfit_;
  } else {
    out_of_workers_ = true;
  }
  return true;
}

absl::Status JobRun::CheckAgreement() {
  absl::MutexLock lock(&mu_);
  const std::vector<Member> present = roster_.Present();
  bool any_ready = false;
  for (const Member& member : present) {
    if (member.state != MemberState::kReady || !IsTrainer(member)) continue;
    agreed_ = member.ready;
    any_ready = true;
    break;
  }
  if (!any_ready) {
    out_of_workers_ = true;  // They went a moment ago.
    return absl::OkStatus();
  }
  if (agreed_.train_samples() < 1 || agreed_.tensors().empty()) {
    return absl::InvalidArgumentError("the training data or model is empty");
  }
  PACELINE_RETURN_IF_ERROR(CheckModel(agreed_.tensors()));
  for (const Member& member : present) {
    if (member.state != MemberState::kReady) continue;
    PACELINE_RETURN_IF_ERROR(
        Annotate(Agrees(member.evaluator, member.ready), member.name));
  }
  PACELINE_RETURN_IF_ERROR(AgreesWithStart());
  stage_ = Stage::kBeginning;  // Who comes later is compared as it comes.
  return absl::OkStatus();
}

absl::Status JobRun::Agrees(bool evaluator,
                            const v1::WorkerReady& ready) const {
  const auto same = [](const v1::TensorSpec& a, const v1::TensorSpec& b) {
    return a.SerializeAsString() == b.SerializeAsString();
  };
  if (!std::equal(ready.tensors().begin(), ready.tensors().end(),
                  agreed_.tensors().begin(), agreed_.tensors().end(), same)) {
    return absl::FailedPreconditionError(
        "the model differs from the other workers': run the same version");
  }
  if (!evaluator && ready.train_samples() != agreed_.train_samples()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the training data has ", ready.train_samples(),
                     " samples, the other workers' ", agreed_.train_samples(),
                     ": give all workers the same data"));
  }
  return absl::OkStatus();
}

absl::Status JobRun::AgreesWithStart() const {
  const auto same = [](const v1::TensorSpec& a, const v1::TensorSpec& b) {
    return a.SerializeAsString() == b.SerializeAsString();
  };
  if (start_.tensors.empty()) return absl::OkStatus();
  if (!std::equal(start_.tensors.begin(), start_.tensors.end(),
                  agreed_.tensors().begin(), agreed_.tensors().end(), same)) {
    return absl::FailedPreconditionError(
        "the checkpoint is of another model than the workers build: run the "
        "version that wrote it");
  }
  return Annotate(CheckPosition(start_.position, agreed_.train_samples()),
                  "the checkpoint does not fit the training data");
}

absl::Status JobRun::HostBlocks() {
  std::vector<TensorShape> tensors;
  std::vector<v1::ServerCommand> hosts(servers_.size());
  {
    absl::MutexLock lock(&mu_);
    for (const v1::TensorSpec& tensor : agreed_.tensors()) {
      tensors.push_back({tensor.name(), tensor.statistic(), tensor.size()});
    }
    std::vector<BlockPlacement> blocks = CutIntoBlocks(tensors);
    PlaceBlocks(static_cast<int>(servers_.size()), absl::MakeSpan(blocks));
    shards_.resize(servers_.size());
    for (size_t i = 0; i < servers_.size(); ++i) {
      shards_[i].set_address(servers_.AddressOf(static_cast<int>(i)));
      v1::HostJob& host = *hosts[i].mutable_host();
      *host.mutable_job() = setup_.spec;
      *host.mutable_tensors() = agreed_.tensors();
      host.set_restore_from(setup_.restore_from);
    }
    for (const BlockPlacement& placed : blocks) {
      const v1::Block block = ToWire(placed, tensors[placed.tensor].statistic);
      *shards_[placed.server].add_blocks() = block;
      *hosts[placed.server].mutable_host()->add_blocks() = block;
    }
  }
  if (setup_.admit_parameters) {
    PACELINE_RETURN_IF_ERROR(setup_.admit_parameters(parameter_bytes()));
  }
  const uint64_t sequence =
      servers_.Broadcast({}, [&](int server, v1::ServerCommand& command) {
        *command.mutable_host() = hosts[server].host();
      });
  return WaitFor(
      "the servers to host the model's blocks",
      setup_.restore_from.empty() ? kAssemblyTimeout : kCheckpointTimeout,
      [&](absl::Duration timeout) {
        return pausing() || servers_.AwaitDone(sequence, timeout);
      });
}

int64_t JobRun::parameter_bytes() const {
  absl::MutexLock lock(&mu_);
  int64_t elements = 0;
  for (const v1::TensorSpec& tensor : agreed_.tensors()) {
    elements += tensor.size();
  }
  return elements * static_cast<int64_t>(sizeof(float));
}

absl::Status JobRun::InitializeWeights() {
  if (!setup_.restore_from.empty()) return absl::OkStatus();
  // The worker that writes the starting weights may be lost while it does: then
  // the next one writes them, and the same values at that.
  WorkerId writer{0};
  const auto written = [&](const std::vector<Member>& present) {
    return std::any_of(present.begin(), present.end(),
                       [](const Member& m) { return m.initialized; });
  };
  return WaitFor(
      "a worker to write the starting weights", kAssemblyTimeout,
      [&](absl::Duration timeout) {
        if (pausing() || FellShort()) return true;
        bool writing = false;
        for (const Member& member : roster_.Present()) {
          writing = writing || member.id == writer;
        }
        for (const Member& member : roster_.Present()) {
          if (writing) break;
          if (!IsTrainer(member) || member.state != MemberState::kReady) {
            continue;
          }
          writer = member.id;
          writing = true;
          absl::MutexLock lock(&mu_);
          Begin(writer, /*initialize=*/true);
        }
        return roster_.Await(written, timeout);
      });
}

void JobRun::StartEngine() {
  int64_t parameters = 0;
  int64_t train_samples = 0;
  {
    absl::MutexLock lock(&mu_);
    for (const v1::TensorSpec& tensor : agreed_.tensors()) {
      parameters += tensor.statistic() ? 0 : tensor.size();
    }
    train_samples = agreed_.train_samples();
  }
  observer_->Started(parameters, train_samples);
  absl::MutexLock lock(&mu_);
  const std::vector<Member> present = roster_.Present();
  std::vector<WorkerId> trainers;
  for (const Member& member : present) {
    // Who loads joins later.
    if (member.state == MemberState::kLoading || !IsTrainer(member)) continue;
    trainers.push_back(member.id);
  }
  if (trainers.empty()) {
    out_of_workers_ = true;
    return;
  }
  MakeEngine();
  for (const Member& member : present) {
    if (member.state == MemberState::kLoading) continue;
    if (member.state == MemberState::kReady) Begin(member.id, false);
    if (!IsTrainer(member)) evaluations_.EvaluatorCame(member.id);
  }
  stage_ = Stage::kTraining;
  record_.Begin(clock_->Now() - absl::Seconds(start_.seconds), parameters,
                train_samples);
  engine_->Start(trainers);
}

int64_t JobRun::SamplesWanted() const {
  const int64_t whole =
      int64_t{agreed_.train_samples()} * spec_.stop().epochs();
  const int64_t samples = spec_.stop().samples();
  if (samples == 0) return whole;
  return whole == 0 ? samples : std::min(whole, samples);
}

void JobRun::MakeEngine() {
  SyncOptions options;
  options.train_samples = agreed_.train_samples();
  options.max_samples = SamplesWanted();
  options.batch_size = spec_.batch_size();
  options.servers = static_cast<int>(servers_.size());
  options.lease = lease();
  auto rate = ParseRateSpec(spec_.schedule());
  CHECK(rate.ok());  // The spec was checked.
  options.schedule =
      RateSchedule(spec_.learning_rate(), *rate, options.max_samples);
  if (spec_.batching() == "balanced") options.batching = Batching::kBalanced;
  options.start_version = start_.version;
  options.start = start_.position;
  const int64_t counted =
      SamplesCounted(start_.position, options.train_samples);
  for (const v1::PlannedSwitch& planned : spec_.switches()) {
    // Those of before were made then, and are the spec's paradigm by now.
    if (counted > 0 && planned.samples() <= counted) continue;
    options.switches.push_back({planned.samples(), planned.paradigm()});
  }
  options.eval_every = EvaluationInterval();
  auto policy = MakePolicy(spec_.paradigm());
  CHECK(policy.ok());
  engine_ =
      std::make_unique<Engine>(clock_, options, *std::move(policy), &sink_);
}

int64_t JobRun::EvaluationInterval() const {
  if (spec_.evaluation().disabled()) return 0;
  if (spec_.evaluation().every() > 0) return spec_.evaluation().every();
  return std::max<int64_t>(1, agreed_.train_samples() / 20);
}

absl::Status JobRun::WaitFor(
    absl::string_view what, absl::Duration timeout,
    const std::function<bool(absl::Duration)>& attempt) {
  const absl::Time deadline = clock_->Now() + timeout;
  absl::Time next_look = clock_->Now();
  while (!attempt(kPollInterval)) {
    PACELINE_RETURN_IF_ERROR(failure());
    const absl::Time now = clock_->Now();
    if (now >= deadline) {
      return absl::DeadlineExceededError(absl::StrCat(
          "waited ", absl::FormatDuration(timeout), " for ", what));
    }
    if (now >= next_look) {
      EndSilentMembers();
      ReportProgress();
      next_look = now + kProgressInterval;
    }
  }
  return failure();
}

void JobRun::EndSilentMembers() {
  const absl::Time since = clock_->Now() - lease();
  const bool training = engine() != nullptr;
  for (const Member& member : roster_.Present()) {
    const bool engines =
        training && IsTrainer(member) && member.state == MemberState::kWorking;
    if (engines || member.last_heard >= since) continue;
    LogWarning("not heard for a lease", {{"worker", member.name}});
    roster_.Close(member.id,
                  absl::AbortedError("the lease ended: register anew"));
    WorkerGone(member.id, LossReason::kLeaseEnded);
  }
}

absl::string_view JobRun::PhaseName(Stage stage) {
  switch (stage) {
    case Stage::kAssembling:
    case Stage::kBeginning:
      return "loading";
    case Stage::kTraining:
      return "training";
    case Stage::kEvaluating:
    case Stage::kEnded:
      break;
  }
  return "evaluating";
}

void JobRun::Enter(Stage stage) {
  absl::MutexLock lock(&mu_);
  stage_ = stage;
}

v1::JobProgress JobRun::Progress() const {
  Engine* engine;
  v1::JobProgress progress;
  absl::string_view phase;
  {
    absl::MutexLock lock(&mu_);
    engine = engine_.get();
    phase = PhaseName(stage_);
    progress.set_paradigm(engine == nullptr ? spec_.paradigm()
                                            : engine->DescribePolicy());
  }
  std::map<WorkerId, std::string> names;
  for (const Member& member : roster_.Present()) {
    if (IsTrainer(member)) names.emplace(member.id, member.name);
  }
  const EngineView view = engine == nullptr ? EngineView() : engine->View();
  record_.Progress(view, names, clock_->Now(), progress);
  progress.set_phase(std::string(phase));
  return progress;
}

void JobRun::ReportProgress() {
  const v1::JobProgress progress = Progress();
  metrics_->workers->Set(progress.workers_size());
  metrics_->samples->Set(static_cast<double>(progress.samples()));
  observer_->Progressed(progress);
}

std::string JobRun::Report() const {
  Engine* const engine = this->engine();
  if (engine == nullptr) return "";
  return record_.Result(engine->View()).dump();
}

bool JobRun::WantsEvaluator() const { return evaluations_.wants_evaluator(); }

bool JobRun::TrainingOver() const {
  absl::MutexLock lock(&mu_);
  return stage_ == Stage::kEvaluating || stage_ == Stage::kEnded;
}

void JobRun::StopEverybody(const absl::Status& outcome) {
  std::string reason(outcome.message());
  if (outcome.ok()) {
    reason = "the job has ended";
  } else if (!absl::IsCancelled(outcome)) {
    reason = absl::StrCat("the job failed: ", outcome.message());
  }
  v1::WorkerCommand stop_worker;
  stop_worker.mutable_stop()->set_reason(reason);
  roster_.SendToAll(stop_worker);
  v1::ServerCommand unhost;
  unhost.mutable_unhost()->set_reason(reason);
  servers_.SendToAll(unhost);
}

void JobRun::Cancel(const absl::Status& reason) {
  absl::MutexLock lock(&mu_);
  if (failure_.ok()) failure_ = reason;
}

absl::Status JobRun::failure() const {
  absl::MutexLock lock(&mu_);
  return failure_;
}

Engine* JobRun::engine() const {
  absl::MutexLock lock(&mu_);
  return engine_.get();
}

}  // namespace paceline
