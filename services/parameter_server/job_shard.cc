#include "services/parameter_server/job_shard.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/link_connections.h"
#include "common/status.h"

namespace paceline {
namespace {

// Blocks of which each push has something.
uint32_t CountPushed(const std::vector<BlockConfig>& blocks) {
  return static_cast<uint32_t>(
      std::ranges::count_if(blocks, [](const BlockConfig& block) {
        return block.kind != TensorKind::kFrozen;
      }));
}

// Room for the blocks, and once more for those that are held when they are
// updated, twice. Null where workers are not to read them, or without
// addresses.
std::shared_ptr<WeightMemory> MakeWeightMemory(const ShardConfig& config) {
  constexpr uint64_t kTimes = 3;
  if (!config.shares_weights || config.blocks.empty()) return nullptr;
  constexpr uint64_t kLines = 3 * 64;  // Arrays begin on one each.
  const uint64_t bytes = StateBytes(config) + kLines * config.blocks.size();
  auto memory = WeightMemory::Create(kTimes * bytes);
  return memory.ok() ? *std::move(memory) : nullptr;
}

// A gradient as it is applied.
struct Gradient {
  DType dtype;
  const Payload* payload;
};

PushEntry ToEntry(const PushBlock& push, bool refused) {
  return {.incarnation = push.incarnation,
          .iteration = push.iteration,
          .block = push.block,
          .samples = push.samples,
          .weight = push.weight,
          .rate = push.rate,
          .momentum = push.momentum,
          .round_plan = push.round_plan,
          .round = push.round,
          .refused = refused,
          .payload = {},
          .owner = {}};
}

// Whoever pushed will not keep the bytes.
void KeepCopy(PushEntry& entry) {
  const auto copy = std::make_shared<std::string>();
  for (const absl::string_view slice : entry.payload.slices()) {
    copy->append(slice.data(), slice.size());
  }
  entry.payload = Payload(*copy);
  entry.owner = copy;
}

// The gradient that was taken. Who has its bytes; null: they are copied.
void Fill(PushEntry& entry, const Gradient& gradient,
          std::shared_ptr<const void> owner) {
  entry.dtype = gradient.dtype;
  entry.payload = *gradient.payload;
  entry.owner = std::move(owner);
  if (entry.owner == nullptr) KeepCopy(entry);
}

}  // namespace

absl::Status ValidatePush(const PushBlock& push) {
  const absl::string_view fault =
      push.iteration < 1                                 ? "iteration"
      : push.samples < 1 || push.samples > kSamplesMax   ? "sample count"
      : !(push.weight >= 0 && push.weight <= kWeightMax) ? "weight"
      : !(push.rate >= 0 && push.rate <= kRateMax)       ? "rate"
      : !IsMomentum(push.momentum)                       ? "momentum"
      : !(push.compensation.lambda >= 0 &&
          push.compensation.lambda <= kWeightMax)
          ? "compensation"
      : !(push.compensation.memory.value_or(0) >= 0 &&
          push.compensation.memory.value_or(0) < 1)
          ? "memory of the compensation"
          : "";
  if (fault.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("block ", push.block, ", iteration ", push.iteration, ", ",
                   push.samples, " samples, weight ", push.weight, ", rate ",
                   push.rate, ": the ", fault, " is out of range"));
}

absl::StatusOr<std::unique_ptr<JobShard>> JobShard::Create(
    ShardConfig config, std::shared_ptr<ByteBudget> snapshot_bytes) {
  PACELINE_RETURN_IF_ERROR(ValidateShardConfig(config));
  if (snapshot_bytes == nullptr) {
    snapshot_bytes =
        std::make_shared<ByteBudget>(std::numeric_limits<uint64_t>::max());
  }
  return std::unique_ptr<JobShard>(
      new JobShard(std::move(config), std::move(snapshot_bytes)));
}

JobShard::JobShard(ShardConfig config,
                   std::shared_ptr<ByteBudget> snapshot_bytes)
    : config_(std::move(config)),
      rule_(config_.optimizer, config_.batch_size, config_.round_strength),
      pushed_blocks_(CountPushed(config_.blocks)),
      weight_memory_(MakeWeightMemory(config_)),
      open_rounds_(config_.limits.max_open_rounds),
      contributors_(static_cast<uint32_t>(config_.blocks.size()),
                    pushed_blocks_, config_.limits.max_incarnations),
      pulls_(
          config_.limits, std::move(snapshot_bytes),
          [this] { return ReadBlocks(); },
          [this](uint64_t incarnation) {
            return contributors_.IsFenced(incarnation);
          }),
      missing_blocks_(static_cast<uint32_t>(config_.blocks.size())),
      serving_(!config_.backup) {
  for (const BlockConfig& block : config_.blocks) {
    index_by_id_.emplace(block.id, static_cast<uint32_t>(blocks_.size()));
    blocks_.push_back(std::make_unique<HostedBlock>(
        block, rule_.Slots(block.kind), &open_rounds_, weight_memory_));
  }
  if (blocks_.empty()) pulls_.SetInitialized().Send();
}

absl::StatusOr<uint32_t> JobShard::FindBlock(uint32_t id) const {
  const auto found = index_by_id_.find(id);
  if (found != index_by_id_.end()) return found->second;
  return absl::InvalidArgumentError(
      absl::StrCat("block ", id, " is not hosted by this server"));
}

absl::StatusOr<uint32_t> JobShard::FindBlock(uint32_t id,
                                             const Payload& payload,
                                             DType dtype) const {
  PACELINE_ASSIGN_OR_RETURN(const uint32_t index, FindBlock(id));
  const size_t bytes = EncodedSize(dtype, blocks_[index]->state.size());
  if (payload.size() != bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("block ", id, " has ", bytes, " bytes as ",
                     DTypeName(dtype), ", not ", payload.size()));
  }
  return index;
}

absl::StatusOr<uint32_t> JobShard::FindPushed(uint32_t id,
                                              const Payload& payload,
                                              DType dtype) const {
  PACELINE_ASSIGN_OR_RETURN(const uint32_t index,
                            FindBlock(id, payload, dtype));
  if (blocks_[index]->config.kind == TensorKind::kFrozen) {
    return absl::InvalidArgumentError(
        absl::StrCat("block ", id, " is frozen: nothing is pushed for it"));
  }
  if (!initialized()) {
    return absl::FailedPreconditionError(
        "the blocks do not have all their initial values yet");
  }
  return index;
}

absl::StatusOr<JobShard::BlockShape> JobShard::ShapeOf(uint32_t block) const {
  PACELINE_ASSIGN_OR_RETURN(const uint32_t index, FindBlock(block));
  return BlockShape{blocks_[index]->state.size(),
                    blocks_[index]->state.slots()};
}

void JobShard::CountInitialized() {
  if (missing_blocks_.fetch_sub(1) == 1) pulls_.SetInitialized().Send();
}

absl::Status JobShard::SetBlock(uint32_t block, const Payload& payload,
                                DType dtype) {
  if (stopped_.load()) return pulls_.status();
  PACELINE_ASSIGN_OR_RETURN(const uint32_t index,
                            FindBlock(block, payload, dtype));
  if (!payload.AllFinite(dtype)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "block ", block, " has an initial value that is not finite"));
  }
  // The worker that fills it says again what it does not know to be taken.
  if (rebuilt_.load() && initialized()) return absl::OkStatus();
  if (training_begun_.load()) {
    return absl::FailedPreconditionError(
        "training has begun; initial values come too late");
  }
  PACELINE_ASSIGN_OR_RETURN(const bool first,
                            blocks_[index]->state.Set(payload, dtype));
  if (first) CountInitialized();
  return absl::OkStatus();
}

void JobShard::BeginRebuilt(int64_t closing, uint64_t snapshot) {
  rebuilt_.store(true);
  pulls_.SetNewestSnapshot(snapshot);
  absl::MutexLock lock(&closing_mu_);
  closing_ = closing;
  pulls_.Advance(closing).Send();
}

absl::Status JobShard::RestoreBlock(uint32_t block,
                                    std::shared_ptr<BlockState> state) {
  if (stopped_.load()) return pulls_.status();
  PACELINE_ASSIGN_OR_RETURN(const uint32_t index, FindBlock(block));
  HostedBlock& hosted = *blocks_[index];
  if (state->size() != hosted.state.size() ||
      state->slots() != hosted.state.slots()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "block ", block, " has ", hosted.state.size(), " elements and ",
        hosted.state.slots(), " arrays of the optimizer; what was saved has ",
        state->size(), " and ", state->slots()));
  }
  for (int i = -1; i < state->slots(); ++i) {
    const float* floats = i < 0 ? state->weights() : state->slot(i);
    if (Payload::OfFloats(floats, state->size()).AllFinite(DType::kF32)) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "block ", block, " was saved with a value that is not finite"));
  }
  if (training_begun_.load()) {
    return absl::FailedPreconditionError(
        "training has begun; a saved state comes too late");
  }
  PACELINE_ASSIGN_OR_RETURN(const bool first,
                            hosted.state.Restore(std::move(state)));
  if (!first) return absl::OkStatus();
  // Before the last block makes the job ready: starting values that a worker
  // might still send must not replace what was saved.
  if (missing_blocks_.load() == 1) training_begun_.store(true);
  CountInitialized();
  return absl::OkStatus();
}

absl::StatusOr<PushOutcome> JobShard::Push(const PushBlock& push,
                                           const Payload& payload,
                                           DType dtype) {
  return Push(push, payload, dtype, [] { return nullptr; });
}

absl::StatusOr<PushOutcome> JobShard::Push(const PushBlock& push,
                                           const Payload& payload, DType dtype,
                                           KeepBytes keep) {
  if (stopped_.load()) return pulls_.status();
  PACELINE_RETURN_IF_ERROR(ValidatePush(push));
  PACELINE_ASSIGN_OR_RETURN(const uint32_t index,
                            FindPushed(push.block, payload, dtype));
  PACELINE_ASSIGN_OR_RETURN(const std::shared_ptr<Contributor> contributor,
                            contributors_.Find(push.incarnation));
  PACELINE_ASSIGN_OR_RETURN(
      const std::optional<PushOutcome> before,
      contributor->Begin(push.iteration, index, push.samples));
  if (before.has_value()) return *before;
  // A fence waits for the end of this: what it counts is in the log before it.
  // So does the completion of the iteration, whichever thread sees it.
  absl::Cleanup end = [&] { contributor->End(index); };
  // The payload is small enough to be in cache for the pass that applies it.
  HostedBlock& block = *blocks_[index];
  Gradient gradient{dtype, &payload};
  std::shared_ptr<std::vector<float>> compensated;
  Payload of_compensated;
  const bool trained = block.config.kind == TensorKind::kTrained;
  std::optional<double> square = trained ? payload.SquareSum(dtype) : 0;
  bool finite = trained ? square.has_value() : payload.AllFinite(dtype);
  if (finite && push.compensation.lambda > 0 && trained) {
    compensated = std::make_shared<std::vector<float>>(Compensated(
        block, push, payload, dtype, contributor->Kept(index).get()));
    of_compensated =
        Payload::OfFloats(compensated->data(), compensated->size());
    gradient = {DType::kF32, &of_compensated};
    finite = of_compensated.AllFinite(DType::kF32);
  }
  absl::MutexLock order(&block.order);
  PushBlock taken = push;
  if (finite) {
    if (!push.round_plan) taken.rate = RateOf(block, push);
    PACELINE_RETURN_IF_ERROR(
        Take(block, taken, *gradient.payload, gradient.dtype));
  }
  if (!finite) square.reset();
  const bool last =
      contributor->Finish(push.iteration, index, push.block, square);
  const uint64_t following = log_.following();
  if (IsFollowed(block, following)) {
    PushEntry entry = ToEntry(taken, !finite);
    if (finite) {
      std::shared_ptr<const void> owner = std::move(compensated);
      Fill(entry, gradient, owner == nullptr ? keep() : std::move(owner));
    }
    log_.Append(following, std::move(entry), /*acknowledge=*/last);
  }
  std::move(end).Cancel();
  return contributor->End(index);
}

double JobShard::RateOf(HostedBlock& block, const PushBlock& push) {
  if (push.rated_at < block.rated_at) return std::min(push.rate, block.rate);
  block.rated_at = push.rated_at;
  return block.rate = push.rate;
}

absl::Status JobShard::Take(HostedBlock& block, const PushBlock& push,
                            const Payload& payload, DType dtype) {
  training_begun_.store(true);
  if (push.round_plan) {
    const float factor =
        UpdateRule::RoundFactor(push.samples, push.weight, block.config.kind);
    return block.sums.Add(push.round, push.samples, factor, payload, dtype);
  }
  Contribution contribution =
      rule_.Immediate(push.samples, push.weight, push.rate);
  contribution.momentum = push.momentum;
  Apply(block, contribution, payload, dtype);
  return absl::OkStatus();
}

std::vector<float> JobShard::Compensated(HostedBlock& block,
                                         const PushBlock& push,
                                         const Payload& payload, DType dtype,
                                         const BlockState* pulled) {
  std::vector<float> gradient(block.state.size());
  payload.CopyTo(dtype, gradient.data());
  // Against the weights of this moment: should another push change them before
  // this one is applied, the delay is one more than was compensated.
  const std::shared_ptr<const BlockState> now = block.state.Read();
  block.compensation.Correct(push.compensation, *now, pulled, gradient.data());
  return gradient;
}

void JobShard::Apply(HostedBlock& block, const Contribution& contribution,
                     const Payload& payload, DType dtype, double* square) {
  block.state.Update([&](const BlockState& current, BlockState& next) {
    rule_.Apply(block.config.kind, block.config.tuning, contribution, payload,
                dtype, current, next, square);
  });
}

void JobShard::PullAndKeep(const Puller& puller, int64_t closing,
                           PullCallback callback) {
  auto contributor = contributors_.Find(puller.incarnation);
  if (!contributor.ok()) {
    callback(contributor.status());
    return;
  }
  if (auto kept = (*contributor)->KeptFor(puller.request); kept.has_value()) {
    callback(*std::move(kept));
    return;
  }
  Pull(puller, closing,
       [contributor = *std::move(contributor), request = puller.request,
        callback =
            std::move(callback)](absl::StatusOr<PulledBlocks> pulled) mutable {
         if (pulled.ok()) {
           pulled = contributor->Keep(request, *std::move(pulled));
         }
         callback(std::move(pulled));
       });
}

std::vector<PulledBlock> JobShard::ReadBlocks() const {
  std::vector<PulledBlock> blocks;
  blocks.reserve(blocks_.size());
  for (const auto& block : blocks_) {
    blocks.push_back({block->config.id, block->state.Read()});
  }
  return blocks;
}

void JobShard::LeaveOutFrozen(std::vector<PulledBlock>& blocks) const {
  size_t kept = 0;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (blocks_[i]->config.kind == TensorKind::kFrozen) continue;
    if (kept != i) blocks[kept] = std::move(blocks[i]);
    ++kept;
  }
  blocks.resize(kept);
}

absl::flat_hash_set<uint32_t> JobShard::BlocksOfPart(uint32_t parts,
                                                     uint32_t part) const {
  std::vector<int64_t> elements;
  elements.reserve(blocks_.size());
  for (const auto& block : blocks_) {
    elements.push_back(static_cast<int64_t>(block->config.size));
  }
  const std::vector<uint32_t> dealt = DealBlocks(elements, parts);
  absl::flat_hash_set<uint32_t> ids;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (dealt[i] == part) ids.insert(blocks_[i]->config.id);
  }
  return ids;
}

void JobShard::ExpirePulls(absl::Time now) { pulls_.Expire(now).Send(); }

void JobShard::Stop(absl::string_view reason) {
  PullAnswers answers = pulls_.Stop(reason);
  stopped_.store(true);
  log_.Close();
  std::move(answers).Send();
}

ShardCounters JobShard::Counters() const {
  return {.parked_pulls = pulls_.parked(),
          .open_rounds = open_rounds_.size(),
          .snapshots = pulls_.snapshots()};
}

absl::StatusOr<FencedPush> JobShard::Fence(uint64_t incarnation) {
  if (stopped_.load()) return pulls_.status();
  const FencedPush answer = contributors_.Fence(incarnation);
  pulls_.Fence(incarnation).Send();
  return answer;
}

absl::Status JobShard::Snapshot(uint64_t snapshot) {
  if (stopped_.load()) return pulls_.status();
  PullAnswers answers;
  absl::Status added;
  {
    absl::MutexLock lock(&closing_mu_);
    if (!initialized()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "snapshot ", snapshot, ": the blocks have no initial values yet"));
    }
    added = pulls_.AddSnapshot(snapshot, {closing_, ReadBlocks()}, answers);
  }
  std::move(answers).Send();
  return added;
}

absl::StatusOr<PulledBlocks> JobShard::TakeBlocks() {
  if (stopped_.load()) return pulls_.status();
  absl::MutexLock lock(&closing_mu_);
  if (!initialized()) {
    return absl::FailedPreconditionError(
        "a checkpoint: the blocks have no initial values yet");
  }
  taken_at_ = closing_;
  return PulledBlocks{closing_, ReadBlocks()};
}

}  // namespace paceline
