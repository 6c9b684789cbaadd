#include "services/coordinator/run/wire.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/manifest.h"
#include "common/overloaded.h"
#include "common/plain_name.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/wire_format.h"
#include "common/status.h"
#include "services/coordinator/job_metrics.h"

namespace paceline {
namespace {

// The part of the test set on which a job that stops at its target is
// evaluated while others train.
constexpr uint32_t kSubsetSamples = 1000;

// Samples reserved for one worker: far more than any loader keeps in flight,
// and no burden.
constexpr uint32_t kMostLookahead = 1 << 20;

absl::Status Unexpected() {
  return absl::InvalidArgumentError("that message is not expected here");
}

absl::StatusOr<WorkerModel> FromWire(const v1::WorkerReady& ready) {
  WorkerModel model;
  model.train_samples = ready.train_samples();
  PACELINE_ASSIGN_OR_RETURN(model.tensors, paceline::FromWire(ready.tensors()));
  return model;
}

MemberEvaluated FromWire(WorkerId worker, const v1::Evaluated& wire) {
  MemberEvaluated evaluated;
  evaluated.worker = worker;
  evaluated.snapshot = wire.snapshot();
  evaluated.status = FromCode(wire.code(), wire.message());
  if (!evaluated.status.ok()) return evaluated;
  const auto note = [](double value, std::optional<double>& to) {
    if (std::isfinite(value)) to = value;
  };
  if (wire.has_accuracy()) note(wire.accuracy(), evaluated.accuracy);
  if (wire.has_loss()) note(wire.loss(), evaluated.loss);
  for (const auto& [name, value] : wire.metrics()) {
    if (name == kAccuracyMetric) {
      note(value, evaluated.accuracy);
    } else if (name == kLossMetric) {
      note(value, evaluated.loss);
    } else if (std::isfinite(value)) {
      evaluated.status.Update(CheckPlainName("a metric's name", name));
      evaluated.metrics[name] = value;
    }
  }
  if (evaluated.metrics.size() > kMetricsMax) {
    evaluated.status = absl::InvalidArgumentError(
        absl::StrCat("it has ", evaluated.metrics.size(),
                     " metrics beside accuracy and loss; at most ", kMetricsMax,
                     " are allowed"));
  }
  if (evaluated.status.ok() && !evaluated.accuracy.has_value() &&
      !evaluated.loss.has_value() && evaluated.metrics.empty()) {
    evaluated.status =
        absl::InvalidArgumentError("it has measured nothing that is finite");
  }
  return evaluated;
}

// Of one iteration, in seconds: a peer may say anything.
constexpr double kWorkedMax = 86'400;

// Whether squares may sum up to that: a peer may say anything.
bool IsSquare(double sum) { return std::isfinite(sum) && sum >= 0; }

CommandDone FromWire(int shard, const v1::CommandDone& done) {
  CommandDone in{shard, done.sequence(), FromCode(done.code(), done.message())};
  if (done.has_fence()) {
    in.fence = FenceAnswer{shard, done.fence().iteration(),
                           done.fence().blocks_taken(), done.fence().blocks(),
                           done.fence().samples()};
  }
  if (done.has_mean_gradient() && IsSquare(done.mean_gradient().square())) {
    in.gradient = ClosedGradient{done.mean_gradient().samples(),
                                 done.mean_gradient().square()};
  }
  return in;
}

absl::StatusOr<RunInput> ReadyFrom(WorkerId worker,
                                   const v1::WorkerReady& ready) {
  if (ready.lookahead() > kMostLookahead) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a lookahead of ", ready.lookahead(), " samples: at most ",
        kMostLookahead, " can be reserved for a worker; load fewer ahead"));
  }
  PACELINE_ASSIGN_OR_RETURN(WorkerModel model, FromWire(ready));
  return MemberReady{worker,
                     std::move(model),
                     {ready.lookahead(), ready.micro_batch(), ready.extends()}};
}

v1::PushPlan ToWire(const PushPlan& plan, double rate, Version rated_at,
                    std::optional<double> momentum) {
  v1::PushPlan wire;
  switch (plan.kind) {
    case PushPlan::Kind::kImmediate:
      wire.set_immediate_rate(rate);
      wire.set_rated_at(rated_at);
      if (momentum.has_value()) wire.set_momentum(*momentum);
      break;
    case PushPlan::Kind::kRound:
      wire.set_round(ToNumber(plan.round));
      break;
    case PushPlan::Kind::kAsk:
      wire.set_ask(true);
      break;
    case PushPlan::Kind::kDiscard:
      wire.set_discard(true);
      break;
  }
  wire.set_weight(static_cast<float>(plan.weight));
  wire.set_compensation(static_cast<float>(plan.compensation));
  if (plan.compensation_memory.has_value()) {
    wire.set_compensation_memory(static_cast<float>(*plan.compensation_memory));
  }
  return wire;
}

}  // namespace

absl::StatusOr<RunInput> ToInput(WorkerId worker,
                                 const v1::WorkerMessage& message) {
  switch (message.kind_case()) {
    case v1::WorkerMessage::kHeartbeat:
      return MemberHeard{worker, message.heartbeat().waits_for_servers()};
    case v1::WorkerMessage::kReady:
      return ReadyFrom(worker, message.ready());
    case v1::WorkerMessage::kInitialized:
      return WeightsInitialized{worker};
    case v1::WorkerMessage::kPushDone: {
      const v1::PushDone& done = message.push_done();
      WorkerPushed pushed{worker,
                          {done.iteration(), done.samples(), done.blocks(),
                           done.blocks_refused(), done.discarded()}};
      if (std::isfinite(done.loss()) && done.samples() > 0) {
        pushed.report.loss = done.loss();
      }
      if (done.has_gradient_square() && IsSquare(done.gradient_square())) {
        pushed.report.gradient_square = done.gradient_square();
      }
      const double worked = done.seconds().load() + done.seconds().compute() +
                            done.seconds().push();
      if (worked >= 0 && worked <= kWorkedMax) {
        pushed.report.worked = absl::Seconds(worked);
      }
      return pushed;
    }
    case v1::WorkerMessage::kGradientReady:
      return WorkerAsks{worker, message.gradient_ready().iteration()};
    case v1::WorkerMessage::kAbandoned:
      return WorkerAbandoned{worker, message.abandoned().iteration()};
    case v1::WorkerMessage::kEvaluated: {
      return FromWire(worker, message.evaluated());
    }
    case v1::WorkerMessage::kLeaving:
      return MemberGone{worker, LossReason::kDeparted, absl::OkStatus()};
    case v1::WorkerMessage::kFailed:
      return MemberGone{
          worker, LossReason::kFailed,
          FromCode(message.failed().code(), message.failed().message())};
    case v1::WorkerMessage::kGivingUp:
      return MemberGone{
          worker, LossReason::kStreamBroken,
          FromCode(message.giving_up().code(), message.giving_up().message())};
    case v1::WorkerMessage::kShardFilled: {
      const v1::ShardFilled& filled = message.shard_filled();
      return ShardFilled{worker, static_cast<int>(filled.shard()),
                         filled.epoch(), filled.base_version()};
    }
    case v1::WorkerMessage::kHello:
    case v1::WorkerMessage::kEnd:       // The session's.
    case v1::WorkerMessage::kLogTold:   // The fleet's.
    case v1::WorkerMessage::kBySocket:  // The stream's.
    case v1::WorkerMessage::KIND_NOT_SET:
      break;
  }
  return Unexpected();
}

absl::StatusOr<RunInput> ToInput(int server, int shard, absl::string_view name,
                                 const v1::ServerMessage& message) {
  if (message.has_done()) return FromWire(shard, message.done());
  if (message.has_checkpoint_written()) {
    const v1::CheckpointWritten& written = message.checkpoint_written();
    return ServerWrote{shard,
                       written.snapshot(),
                       FromCode(written.code(), written.message()),
                       {written.file(), written.bytes(), written.sha256()}};
  }
  if (message.has_failed()) {
    return ShardFailed{shard, Annotate(FromCode(message.failed().code(),
                                                message.failed().message()),
                                       name)};
  }
  if (message.has_backup()) {
    const v1::BackupReport& backup = message.backup();
    return BackupReported{
        server, shard, backup.epoch(),
        Annotate(FromCode(backup.code(), backup.message()), name)};
  }
  if (message.has_promoted()) {
    return BackupPromoted{server, shard, message.promoted().epoch(),
                          message.promoted().sequence()};
  }
  return Unexpected();
}

v1::WorkerCommand ToWire(const Grant& grant) {
  v1::WorkerCommand command;
  v1::Grant& wire = *command.mutable_grant();
  wire.set_iteration(grant.iteration);
  *wire.mutable_range() = ToWire(grant.range);
  wire.set_closing(grant.closing);
  wire.set_base_version(grant.base_version);
  wire.set_micro_batch(grant.micro_batch);
  for (const SampleRange& range : grant.reserved) {
    *wire.add_reserved() = ToWire(range);
  }
  *wire.mutable_plan() =
      ToWire(grant.plan, grant.rate, grant.rated_at, grant.momentum);
  wire.set_rate(grant.rate);
  return command;
}

v1::WorkerCommand ToWire(const PlanCommand& plan) {
  v1::WorkerCommand command;
  command.mutable_plan_push()->set_iteration(plan.iteration);
  *command.mutable_plan_push()->mutable_plan() =
      ToWire(plan.plan, plan.rate, plan.rated_at, plan.momentum);
  return command;
}

v1::WorkerCommand ToWire(const ExtendCommand& extend) {
  v1::WorkerCommand command;
  command.mutable_extend()->set_iteration(extend.iteration);
  *command.mutable_extend()->mutable_range() = ToWire(extend.range);
  return command;
}

v1::WorkerCommand ToWire(const RefreshCommand& refresh) {
  v1::WorkerCommand command;
  command.mutable_refresh()->set_iteration(refresh.iteration);
  return command;
}

v1::WorkerCommand ToWire(const AbandonCommand& abandon) {
  v1::WorkerCommand command;
  command.mutable_abandon()->set_iteration(abandon.iteration);
  return command;
}

v1::WorkerCommand ToWire(const DropReserved&) {
  v1::WorkerCommand command;
  command.mutable_drop_reserved();
  return command;
}

v1::WorkerCommand ToWire(const EvaluateSnapshot& evaluate) {
  v1::WorkerCommand command;
  command.mutable_evaluate()->set_snapshot(evaluate.snapshot);
  if (evaluate.subset) command.mutable_evaluate()->set_samples(kSubsetSamples);
  return command;
}

absl::StatusOr<std::vector<ModelTensor>> FromWire(
    const google::protobuf::RepeatedPtrField<v1::TensorSpec>& wires) {
  std::vector<ModelTensor> tensors;
  for (const v1::TensorSpec& wire : wires) {
    ModelTensor& tensor = tensors.emplace_back();
    tensor.name = wire.name();
    tensor.shape = {wire.shape().begin(), wire.shape().end()};
    tensor.size = wire.size();
    PACELINE_ASSIGN_OR_RETURN(tensor.kind, FromWire(wire.kind()));
    if (wire.has_rate_factor()) tensor.rate_factor = wire.rate_factor();
    if (wire.has_weight_decay()) tensor.weight_decay = wire.weight_decay();
    if (wire.has_momentum()) tensor.momentum = wire.momentum();
  }
  return tensors;
}

v1::TensorSpec ToWire(const ModelTensor& tensor) {
  v1::TensorSpec wire;
  wire.set_name(tensor.name);
  for (const int64_t extent : tensor.shape) wire.add_shape(extent);
  wire.set_size(tensor.size);
  wire.set_kind(ToWire(tensor.kind));
  if (tensor.rate_factor) wire.set_rate_factor(*tensor.rate_factor);
  if (tensor.weight_decay) wire.set_weight_decay(*tensor.weight_decay);
  if (tensor.momentum) wire.set_momentum(*tensor.momentum);
  return wire;
}

std::vector<v1::Shard> ToShards(size_t count,
                                const std::vector<ModelTensor>& tensors,
                                const std::vector<BlockPlacement>& blocks) {
  std::vector<v1::Shard> shards(count);
  for (const BlockPlacement& placed : blocks) {
    v1::Block& block = *shards[placed.server].add_blocks();
    block.set_id(placed.block);
    block.set_tensor(placed.tensor);
    block.set_offset(placed.offset);
    block.set_size(placed.size);
    block.set_kind(ToWire(tensors[placed.tensor].kind));
  }
  return shards;
}

v1::AnnounceClosing ToWire(const AnnounceCommand& announce) {
  v1::AnnounceClosing wire;
  wire.set_closing(announce.closing);
  wire.set_round(ToNumber(announce.round));
  wire.set_gradients(static_cast<uint32_t>(announce.gradients));
  wire.set_rate(announce.rate);
  return wire;
}

v1::ServerCommand ToWire(const NumberedCommand& command, size_t shard,
                         size_t shards) {
  v1::ServerCommand wire;
  wire.set_sequence(command.sequence);
  wire.set_shard(static_cast<uint32_t>(shard));
  std::visit(
      Overloaded{
          [&](const HostBlocks&) { wire.mutable_host(); },
          [&](const CloseCommand& close) {
            wire.mutable_close()->set_closing(close.closing);
            wire.mutable_close()->set_rate(close.rate);
            if (close.momentum.has_value()) {
              wire.mutable_close()->set_momentum(*close.momentum);
            }
            for (const RoundId round : close.rounds) {
              wire.mutable_close()->add_rounds(ToNumber(round));
            }
          },
          [&](const FenceIncarnation& fence) {
            wire.mutable_fence()->set_incarnation(fence.incarnation);
          },
          [&](const SnapshotCommand& keep) {
            wire.mutable_snapshot()->set_snapshot(keep.snapshot);
          },
          [&](const ReleaseSnapshot& release) {
            wire.mutable_release_snapshot()->set_snapshot(release.snapshot);
          },
          [&](const WriteBlocks& write) {
            v1::WriteCheckpoint& files = *wire.mutable_write_checkpoint();
            files.set_snapshot(write.snapshot);
            files.set_directory(write.directory);
            files.set_file(ShardFileName(shard, shards));
          }},
      command.command);
  return wire;
}

v1::GradientNoise ToWire(const GradientNoise& noise) {
  v1::GradientNoise wire;
  wire.set_gradient_norm(std::sqrt(std::max(noise.square, 0.0)));
  if (const std::optional<double> scale = noise.Scale()) {
    wire.set_noise_scale(*scale);
  }
  return wire;
}

v1::AccuracyPoint ToWire(const AccuracyPoint& point) {
  v1::AccuracyPoint wire;
  wire.set_seconds(point.seconds);
  wire.set_version(point.version);
  wire.set_version_at_completion(point.version_at_completion);
  wire.set_samples(point.samples);
  wire.set_samples_discarded(point.samples_discarded);
  if (point.accuracy.has_value()) wire.set_accuracy(*point.accuracy);
  if (point.loss.has_value()) wire.set_loss(*point.loss);
  wire.mutable_metrics()->insert(point.metrics.begin(), point.metrics.end());
  return wire;
}

MetricTarget FromWire(const v1::MetricTarget& target) {
  return {.metric = target.metric(),
          .value = target.value(),
          .at_least = target.direction() == v1::MetricTarget::AT_LEAST};
}

CourseOptions ToCourseOptions(const JobPlan& plan) {
  CourseOptions options;
  options.paradigm = plan.paradigm;
  options.batch_size = plan.spec.batch_size();
  options.micro_batch = plan.spec.micro_batch();
  options.total_momentum = TotalMomentum(plan.optimizer);
  options.ada_scale = plan.round_strength == RoundStrength::kAdaScale;
  options.data_assignment = plan.data_assignment;
  options.switches = plan.switches;
  options.evaluate = !plan.spec.evaluation().disabled();
  options.eval_every = plan.spec.evaluation().every();
  options.defer_evaluation = plan.spec.evaluation().defer();
  const v1::StopConditions& stop = plan.spec.stop();
  const bool has_target =
      stop.target_accuracy() > 0 || stop.target_loss() > 0 || stop.has_target();
  options.evaluation_share = plan.spec.evaluation().share();
  if (options.evaluation_share == 0) {
    options.evaluation_share =
        DefaultEvaluationShare(options.eval_every, has_target);
  }
  return options;
}

RunSettings ToRunSettings(const JobPlan& plan) {
  RunSettings settings;
  settings.rate = plan.rate;
  settings.learning_rate = plan.spec.learning_rate();
  settings.batching = plan.batching;
  settings.workers_min = plan.spec.workers().min();
  settings.steered = plan.spec.auto_().act();
  const v1::StopConditions& stop = plan.spec.stop();
  settings.stop = {stop.epochs(),      stop.samples(),
                   stop.seconds(),     stop.target_accuracy(),
                   stop.target_loss(), stop.at_target()};
  if (stop.has_target()) settings.stop.target = FromWire(stop.target());
  const auto& interval = plan.spec.checkpoints().interval();
  settings.checkpoint_interval =
      std::max(absl::ZeroDuration(), absl::Seconds(interval.seconds()) +
                                         absl::Nanoseconds(interval.nanos()));
  return settings;
}

}  // namespace paceline
