// The stages of a run before the training: who takes part, on whose servers,
// from which weights.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/check.h"
#include "common/status.h"
#include "services/coordinator/policy/placement.h"
#include "services/coordinator/policy/policy_spec.h"
#include "services/coordinator/run/job_run.h"
#include "services/coordinator/run/model_check.h"
#include "services/coordinator/run/time_limits.h"

namespace paceline {
namespace {

v1::Block ToWire(const BlockPlacement& placed, bool statistic) {
  v1::Block block;
  block.set_id(placed.block);
  block.set_tensor(placed.tensor);
  block.set_offset(placed.offset);
  block.set_size(placed.size);
  block.set_statistic(statistic);
  return block;
}

size_t ReadyTrainers(const std::vector<Member>& present) {
  return std::count_if(present.begin(), present.end(), [](const Member& m) {
    return m.state == MemberState::kReady && IsTrainer(m);
  });
}

}  // namespace

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
  for (const Member& member : roster_.Present()) {
    if (IsTrainer(member)) ++trainers;
  }
  const absl::Time now = clock_->Now();
  absl::MutexLock lock(&mu_);
  if (trainers >= min) {
    short_since_ = absl::InfiniteFuture();
    return false;
  }
  short_since_ = std::min(short_since_, now);
  if (now - short_since_ < lease()) return false;
  if (trainers == 0 && !unfit_.ok()) {
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
      host.set_traceparent(setup_.traceparent);
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
  metrics_->training_start_timestamp_seconds->Set(
      absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
  engine_->Start(trainers);
  metrics_->workers_joined->Increment(static_cast<double>(trainers.size()));
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

}  // namespace paceline
