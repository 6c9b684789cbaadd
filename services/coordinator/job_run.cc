#include "services/coordinator/job_run.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/log/log.h"
#include "common/status.h"
#include "services/coordinator/job_spec_check.h"
#include "services/coordinator/policy/placement.h"
#include "services/coordinator/policy/policy_spec.h"

namespace paceline {
namespace {

// Data that must be read and models that must be built before a job begins.
constexpr absl::Duration kAssemblyTimeout = absl::Minutes(5);
constexpr absl::Duration kProgressInterval = absl::Milliseconds(500);
constexpr absl::Duration kPollInterval = absl::Milliseconds(50);

// When --stop-at-target evaluates while others train.
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

}  // namespace

absl::StatusOr<std::unique_ptr<JobRun>> JobRun::Create(
    const v1::JobSpec& spec, uint64_t entropy, const Clock* clock,
    Reporter* reporter, CoordinatorMetrics* metrics) {
  PACELINE_RETURN_IF_ERROR(CheckJobSpec(spec));
  PACELINE_ASSIGN_OR_RETURN(const RateSpec rate,
                            ParseRateSpec(spec.schedule()));
  PACELINE_ASSIGN_OR_RETURN(const auto policy, MakePolicy(spec.paradigm()));
  v1::JobSpec canonical = spec;
  canonical.set_paradigm(policy->Describe());
  return absl::WrapUnique(
      new JobRun(canonical, rate, entropy, clock, reporter, metrics));
}

JobRun::JobRun(const v1::JobSpec& spec, const RateSpec& rate, uint64_t entropy,
               const Clock* clock, Reporter* reporter,
               CoordinatorMetrics* metrics)
    : spec_(spec),
      rate_(rate),
      clock_(clock),
      reporter_(reporter),
      metrics_(metrics),
      roster_(entropy),
      servers_(spec.servers()),
      record_(spec.paradigm(), spec.target_accuracy()),
      evaluations_(spec.defer_eval(),
                   [this](WorkerId evaluator, int64_t snapshot, bool last) {
                     v1::WorkerCommand command;
                     command.mutable_evaluate()->set_snapshot(snapshot);
                     if (spec_.stop_at_target() && !last) {
                       command.mutable_evaluate()->set_samples(kSubsetSamples);
                     }
                     roster_.Send(evaluator, std::move(command));
                   }),
      sink_({clock, &roster_, &servers_, &record_, &evaluations_, reporter,
             metrics, spec.evaluator()}) {}

JobRun::~JobRun() = default;

absl::Status JobRun::Run() {
  const auto run_stages = [this]() -> absl::Status {
    PACELINE_RETURN_IF_ERROR(Assemble());
    PACELINE_RETURN_IF_ERROR(CheckAgreement());
    PACELINE_RETURN_IF_ERROR(HostBlocks());
    PACELINE_RETURN_IF_ERROR(InitializeWeights());
    PACELINE_RETURN_IF_ERROR(Train());
    return Evaluate();
  };
  absl::Status outcome = run_stages();
  Enter(Stage::kEnded);
  // Before the result: whoever reads it may end this process, and a recording
  // that was asked for is part of it.
  if (trace_ != nullptr) outcome.Update(trace_->Close());
  if (outcome.ok()) {
    reporter_->Report("result", {{"run", record_.Result(engine()->View())}});
  }
  StopEverybody(outcome);
  return outcome;
}

absl::Status JobRun::Assemble() {
  const size_t evaluators = spec_.evaluator() ? 1 : 0;
  const auto complete = [&](const std::vector<Member>& present) {
    const auto ready = [](const Member& m) {
      return m.state == MemberState::kReady;
    };
    const size_t all = std::count_if(present.begin(), present.end(), ready);
    const size_t trainers = std::count_if(
        present.begin(), present.end(),
        [&](const Member& m) { return ready(m) && IsTrainer(m); });
    return trainers >= spec_.workers() && all - trainers >= evaluators;
  };
  return WaitFor("all workers and servers to be ready", kAssemblyTimeout,
                 [&](absl::Duration timeout) {
                   return servers_.AwaitAll(timeout) &&
                          roster_.Await(complete, timeout);
                 });
}

absl::Status JobRun::CheckAgreement() {
  absl::MutexLock lock(&mu_);
  const std::vector<Member> present = roster_.Present();
  for (const Member& member : present) {
    if (member.state != MemberState::kReady || !IsTrainer(member)) continue;
    agreed_ = member.ready;
    break;
  }
  if (agreed_.train_samples() < 1 || agreed_.tensors().empty()) {
    return absl::InvalidArgumentError("the training data or model is empty");
  }
  for (const Member& member : present) {
    if (member.state != MemberState::kReady) continue;
    PACELINE_RETURN_IF_ERROR(
        Annotate(Agrees(member.evaluator, member.ready), member.name));
  }
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
      *hosts[i].mutable_host()->mutable_job() = spec_;
    }
    for (const BlockPlacement& placed : blocks) {
      const v1::Block block = ToWire(placed, tensors[placed.tensor].statistic);
      *shards_[placed.server].add_blocks() = block;
      *hosts[placed.server].mutable_host()->add_blocks() = block;
    }
  }
  const uint64_t sequence =
      servers_.Broadcast({}, [&](int server, v1::ServerCommand& command) {
        *command.mutable_host() = hosts[server].host();
      });
  return WaitFor("the servers to host the model's blocks", 3 * lease(),
                 [&](absl::Duration timeout) {
                   return servers_.AwaitDone(sequence, timeout);
                 });
}

absl::Status JobRun::InitializeWeights() {
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

absl::Status JobRun::Train() {
  PACELINE_RETURN_IF_ERROR(StartEngine());
  const absl::Time began = clock_->Now();
  absl::Time next_report = began;
  absl::Time somebody_seen = began;
  bool sealed = false;
  while (!sink_.finished()) {
    PACELINE_RETURN_IF_ERROR(failure());
    const absl::Time now = clock_->Now();
    if (now >= next_report) {
      ReportProgress();
      EndSilentMembers();
      next_report = now + kProgressInterval;
    }
    if (!engine()->View().workers.empty()) somebody_seen = now;
    if (now - somebody_seen > lease()) {
      return absl::UnavailableError(
          "no worker is left, and none has come back within a lease");
    }
    if (spec_.max_seconds() > 0 && !sealed &&
        now - began >= absl::Seconds(spec_.max_seconds())) {
      engine()->Seal();
      sealed = true;
    }
    // Ends at once when the engine finishes.
    sink_.AwaitFinished(kPollInterval);
  }
  ReportProgress();
  // The last closing too: from here on the servers hold the result.
  const uint64_t last = servers_.last_sequence();
  return WaitFor("the servers to apply the last update", 3 * lease(),
                 [&](absl::Duration timeout) {
                   return servers_.AwaitDone(last, timeout);
                 });
}

absl::Status JobRun::Evaluate() {
  Enter(Stage::kEvaluating);
  evaluations_.Open();
  absl::Time evaluator_seen = clock_->Now();
  while (!evaluations_.AwaitEmpty(kProgressInterval)) {
    PACELINE_RETURN_IF_ERROR(failure());
    ReportProgress();
    EndSilentMembers();
    const absl::Time now = clock_->Now();
    if (evaluations_.has_evaluator()) evaluator_seen = now;
    if (now - evaluator_seen > 3 * lease()) {
      return absl::UnavailableError(absl::StrCat(
          "the evaluator is lost with ", evaluations_.pending(),
          " snapshots to evaluate; the training itself had finished"));
    }
  }
  return absl::OkStatus();
}

absl::Status JobRun::StartEngine() {
  absl::MutexLock lock(&mu_);
  MakeEngine();
  std::vector<WorkerId> trainers;
  for (const Member& member : roster_.Present()) {
    if (member.state == MemberState::kLoading) continue;  // It joins later.
    if (member.state == MemberState::kReady) Begin(member.id, false);
    if (IsTrainer(member)) {
      trainers.push_back(member.id);
    } else {
      evaluations_.EvaluatorCame(member.id);
    }
  }
  if (trainers.empty()) {
    return absl::UnavailableError("no worker is left to begin the training");
  }
  int64_t parameters = 0;
  for (const v1::TensorSpec& tensor : agreed_.tensors()) {
    parameters += tensor.statistic() ? 0 : tensor.size();
  }
  reporter_->Report("started", {{"parameters", parameters},
                                {"train_samples", agreed_.train_samples()}});
  stage_ = Stage::kTraining;
  record_.Begin(clock_->Now());
  engine_->Start(trainers);
  return absl::OkStatus();
}

void JobRun::MakeEngine() {
  SyncOptions options;
  options.train_samples = agreed_.train_samples();
  options.epochs = spec_.epochs();
  options.batch_size = spec_.batch_size();
  options.servers = static_cast<int>(servers_.size());
  options.lease = lease();
  options.schedule =
      RateSchedule(spec_.learning_rate(), rate_,
                   int64_t{options.train_samples} * options.epochs);
  if (spec_.batching() == "balanced") options.batching = Batching::kBalanced;
  for (const v1::PlannedSwitch& planned : spec_.switches()) {
    options.switches.push_back({planned.samples(), planned.paradigm()});
  }
  options.eval_every = spec_.evaluator() ? spec_.eval_every() : 0;
  auto policy = MakePolicy(spec_.paradigm());
  CHECK(policy.ok());  // Create() has parsed it.
  engine_ =
      std::make_unique<Engine>(clock_, options, *std::move(policy), &sink_);
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
  const std::string silent = servers_.SilentSince(since);
  if (!silent.empty()) {
    Cancel(absl::UnavailableError(absl::StrCat(
        "parameter server ", silent, " was not heard for a lease (",
        absl::FormatDuration(lease()), "): its part of the model is lost")));
  }
}

absl::string_view JobRun::StateName(Stage stage) {
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

void JobRun::ReportProgress() {
  Engine* engine;
  absl::string_view state;
  {
    absl::MutexLock lock(&mu_);
    engine = engine_.get();
    state = StateName(stage_);
  }
  std::map<WorkerId, std::string> names;
  for (const Member& member : roster_.Present()) {
    names.emplace(member.id, member.name);
  }
  auto progress = record_.Progress(
      engine == nullptr ? EngineView() : engine->View(), names, clock_->Now());
  progress["state"] = std::string(state);
  reporter_->Report("progress", progress);
}

void JobRun::StopEverybody(const absl::Status& outcome) {
  const std::string reason =
      outcome.ok() ? "the job has ended"
                   : absl::StrCat("the job failed: ", outcome.message());
  v1::WorkerCommand stop_worker;
  stop_worker.mutable_stop()->set_reason(reason);
  roster_.SendToAll(stop_worker);
  v1::ServerCommand stop_server;
  stop_server.mutable_stop()->set_reason(reason);
  servers_.SendToAll(stop_server);
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
