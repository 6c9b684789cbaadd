#include "services/simulator/training/virtual_training.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/memory/memory.h"
#include "common/micro_batches.h"
#include "common/status.h"
#include "services/worker/evaluation.h"

namespace paceline {
namespace {

// More than a simulated cluster ever has incarnations.
constexpr size_t kMostIncarnations = size_t{1} << 30;

// No worker's.
constexpr WorkerId kEvaluator{0xffffffff};

uint64_t IncarnationOf(WorkerId worker) { return ToNumber(worker) + 1; }

PushBlock HeadOf(const Grant& grant, uint32_t samples) {
  const PushPlan& plan = grant.plan;
  return {.incarnation = IncarnationOf(grant.worker),
          .iteration = grant.iteration,
          .samples = samples,
          .weight = static_cast<float>(plan.weight),
          .rate = grant.rate,
          .rated_at = grant.rated_at,
          .momentum = grant.momentum,
          .round_plan = plan.kind == PushPlan::Kind::kRound,
          .round = ToNumber(plan.round),
          .compensation = {static_cast<float>(plan.compensation),
                           plan.compensation_memory}};
}

}  // namespace

absl::StatusOr<std::unique_ptr<VirtualTraining>> VirtualTraining::Create(
    const TrainingSpec& spec, const Dataset* train, const Dataset* test) {
  auto training = absl::WrapUnique(new VirtualTraining(spec, train, test));
  PACELINE_RETURN_IF_ERROR(training->Prepare(*train));
  return training;
}

absl::Status VirtualTraining::Prepare(const Dataset& train) {
  PACELINE_ASSIGN_OR_RETURN(backend_, MakeBackend("cpu"));
  PACELINE_ASSIGN_OR_RETURN(
      model_,
      Model::Create(
          spec_.model, train.shape(), train.classes(), backend_.get(),
          std::max<int>(static_cast<int>(spec_.batch_size), kEvaluationBatch)));
  PACELINE_RETURN_IF_ERROR(model_->Initialize(spec_.seed));
  if (spec_.local_rate > 0) local_.emplace(model_.get(), spec_.local_rate);
  std::vector<TensorShape> tensors;
  for (const TensorSpec& tensor : model_->tensors()) {
    tensors.push_back({tensor.name, tensor.size});
  }
  blocks_ = CutIntoBlocks(tensors);
  ShardConfig config;
  config.optimizer = spec_.optimizer;
  config.batch_size = spec_.batch_size;
  config.round_strength = spec_.round_strength;
  config.limits.max_incarnations = kMostIncarnations;
  for (const BlockPlacement& block : blocks_) {
    const TensorShape& tensor = tensors[block.tensor];
    const TensorSpec& spec = model_->tensors()[block.tensor];
    config.blocks.push_back(
        {.id = block.block,
         .tensor = tensor.name,
         .offset = static_cast<uint64_t>(block.offset),
         .size = static_cast<uint32_t>(block.size),
         .kind = spec.kind,
         .tuning = TuningOf(config.optimizer, spec.shape.size())});
  }
  PACELINE_ASSIGN_OR_RETURN(shard_, JobShard::Create(std::move(config)));
  for (const BlockPlacement& block : blocks_) {
    const float* initial =
        model_->parameter(block.tensor).data() + block.offset;
    PACELINE_RETURN_IF_ERROR(shard_->SetBlock(
        block.block, Payload::OfFloats(initial, block.size), DType::kF32));
  }
  return absl::OkStatus();
}

void VirtualTraining::Pulled(Nanos /*at*/, const Grant& grant) {
  if (!status_.ok()) return;
  // Compensation needs to know from which weights the gradient is.
  absl::StatusOr<PulledBlocks> weights =
      Pull(grant.worker, grant.closing, grant.plan.compensation > 0);
  status_ = weights.status();
  if (weights.ok()) pulled_[grant.worker] = *std::move(weights);
}

void VirtualTraining::PushTaken(Nanos /*at*/, const Grant& grant,
                                uint32_t samples, PushReport& report) {
  if (status_.ok()) status_ = Train(grant, samples, report);
}

void VirtualTraining::Closed(Nanos /*at*/, const CloseCommand& close,
                             std::optional<ClosedGradient>& gradient) {
  if (!status_.ok()) return;
  std::vector<uint64_t> rounds;
  for (const RoundId round : close.rounds) rounds.push_back(ToNumber(round));
  const absl::StatusOr<std::optional<MeanGradient>> mean =
      shard_->Close(close.closing, rounds, close.rate, close.momentum);
  status_ = mean.status();
  if (!mean.ok() || !mean->has_value()) return;
  gradient = {(*mean)->samples, (*mean)->square};
}

void VirtualTraining::SnapshotTaken(Nanos at, const SnapshotCommand& taken,
                                    MemberEvaluated& evaluated) {
  if (status_.ok()) status_ = Measure(at, taken);
  evaluated.status = status_;
  if (!status_.ok()) return;
  evaluated.accuracy = accuracy_.back().accuracy;
  evaluated.loss = accuracy_.back().loss;
}

absl::StatusOr<PulledBlocks> VirtualTraining::Pull(WorkerId worker,
                                                   Closing closing, bool keep) {
  absl::StatusOr<PulledBlocks> weights =
      absl::InternalError("a virtual server did not answer at once");
  const Puller puller{.incarnation = IncarnationOf(worker),
                      .deadline = absl::InfiniteFuture()};
  const auto answer = [&weights](absl::StatusOr<PulledBlocks> blocks) {
    weights = std::move(blocks);
  };
  if (keep) {
    shard_->PullAndKeep(puller, closing, answer);
  } else {
    shard_->Pull(puller, closing, answer);
  }
  return weights;
}

absl::Status VirtualTraining::Load(const PulledBlocks& weights) {
  for (const PulledBlock& pulled : weights.blocks) {
    const BlockPlacement& block = blocks_[pulled.id];
    std::memcpy(model_->parameter(block.tensor).data() + block.offset,
                pulled.state->weights(), block.size * sizeof(float));
  }
  return model_->ParametersChanged();
}

absl::StatusOr<bool> VirtualTraining::ComputeRange(const SampleRange& range,
                                                   uint32_t piece,
                                                   uint32_t samples,
                                                   bool& first, double& loss) {
  PACELINE_RETURN_IF_ERROR(loader_.Start(range, static_cast<int>(piece)));
  while (const std::optional<MicroBatch> batch = loader_.Next()) {
    const float scale =
        1.0f / static_cast<float>(local_.has_value() ? batch->n : samples);
    PACELINE_ASSIGN_OR_RETURN(
        const BatchLoss part,
        model_->ForwardBackward(batch->images, batch->labels, batch->n, scale,
                                first || local_.has_value()));
    first = false;
    loss += part.loss_sum;
    if (!std::isfinite(loss)) return false;
    if (!local_.has_value()) continue;
    PACELINE_RETURN_IF_ERROR(model_->FetchGradients());
    PACELINE_RETURN_IF_ERROR(
        local_->Step(static_cast<double>(batch->n) / samples));
  }
  return true;
}

absl::StatusOr<std::optional<double>> VirtualTraining::ComputeGradient(
    const Grant& grant, uint32_t samples) {
  const uint32_t most =
      MicroBatchLimit(spec_.batch_size, spec_.micro_batch, grant.micro_batch);
  double loss = 0;
  bool first = true;
  const SampleRanges ranges = grant.ranges();
  const SampleRanges used = FrontOf(ranges, samples);
  if (local_.has_value()) local_->Begin();
  for (size_t i = 0; i < ranges.size() && used[i].size() > 0; ++i) {
    const uint32_t piece = MicroBatchSize(ranges[i].size(), most);
    PACELINE_ASSIGN_OR_RETURN(
        const bool finite, ComputeRange(used[i], piece, samples, first, loss));
    if (!finite) return std::nullopt;
  }
  if (local_.has_value()) {
    local_->End();
  } else {
    PACELINE_RETURN_IF_ERROR(model_->FetchGradients());
  }
  return loss / samples;
}

absl::Status VirtualTraining::Push(const Grant& grant, uint32_t samples,
                                   PushReport& report) {
  PushBlock head = HeadOf(grant, samples);
  PushOutcome outcome;
  for (const BlockPlacement& block : blocks_) {
    head.block = block.block;
    const float* gradient = GradientOf(block.tensor).data() + block.offset;
    PACELINE_ASSIGN_OR_RETURN(
        outcome, shard_->Push(head, Payload::OfFloats(gradient, block.size),
                              DType::kF32));
  }
  report.gradient_square = outcome.gradient_square;
  refused_blocks_ += static_cast<int64_t>(outcome.refused.size());
  return absl::OkStatus();
}

absl::Status VirtualTraining::Train(const Grant& grant, uint32_t samples,
                                    PushReport& report) {
  const auto weights = pulled_.extract(grant.worker);
  if (weights.empty()) {
    return absl::InternalError("a virtual worker pushed without a pull");
  }
  PACELINE_RETURN_IF_ERROR(Load(weights.mapped()));
  PACELINE_ASSIGN_OR_RETURN(report.loss, ComputeGradient(grant, samples));
  if (!report.loss.has_value()) {
    // As with a real worker, nothing reaches the servers.
    refused_blocks_ += static_cast<int64_t>(blocks_.size());
    return absl::OkStatus();
  }
  return Push(grant, samples, report);
}

absl::Status VirtualTraining::Measure(Nanos at, const SnapshotCommand& taken) {
  PACELINE_ASSIGN_OR_RETURN(const PulledBlocks weights,
                            Pull(kEvaluator, 0, /*keep=*/false));
  PACELINE_RETURN_IF_ERROR(Load(weights));
  PACELINE_ASSIGN_OR_RETURN(const Evaluation measured,
                            Evaluate(*model_, test_, 0, [] { return true; }));
  accuracy_.push_back({.seconds = ToSeconds(at),
                       .version = taken.version,
                       .version_at_completion = taken.version,
                       .samples = taken.samples,
                       .accuracy = measured.accuracy,
                       .loss = measured.loss});
  return absl::OkStatus();
}

}  // namespace paceline
