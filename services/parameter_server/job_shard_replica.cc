// A job's blocks as a shard's primary gives them to its backup, and as that
// takes them.

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "services/parameter_server/job_shard.h"

namespace paceline {
namespace {

PushBlock ToPush(const PushEntry& entry) {
  return {.incarnation = entry.incarnation,
          .iteration = entry.iteration,
          .block = entry.block,
          .samples = entry.samples,
          .weight = entry.weight,
          .rate = entry.rate,
          .momentum = entry.momentum,
          .round_plan = entry.round_plan,
          .round = entry.round};
}

absl::Status WrongSize(uint32_t block) {
  return absl::InvalidArgumentError(
      absl::StrCat("what came for block ", block, " has another size than it"));
}

}  // namespace

absl::StatusOr<uint64_t> JobShard::Replicate(uint64_t sequence, bool hold,
                                             std::function<void()> wake) {
  if (stopped_.load()) return pulls_.status();
  if (!initialized()) {
    return absl::FailedPreconditionError(
        "a backup: the blocks have no initial values yet");
  }
  const uint64_t following = log_.Begin(hold, std::move(wake));
  BaseEntry base{.sequence = sequence,
                 .closing = 0,
                 .snapshot = pulls_.newest_snapshot(),
                 .fenced = contributors_.Fenced()};
  {
    absl::MutexLock lock(&closing_mu_);
    base.closing = closing_;
  }
  log_.Append(following, std::move(base));
  return following;
}

bool JobShard::FillFurther(uint64_t following, uint32_t block) {
  if (block < blocks_.size()) {
    AppendState(*blocks_[block], block, following);
    return true;
  }
  log_.Append(following, FilledEntry{});
  return false;
}

void JobShard::AppendState(HostedBlock& block, uint32_t index,
                           uint64_t following) {
  const uint32_t id = block.config.id;
  absl::MutexLock order(&block.order);
  // From here on each change follows this.
  block.followed = following;
  log_.Append(following, StateEntry{id, block.state.Read(),
                                    contributors_.TakenOf(index, id)});
  for (auto& [round, gathered] : block.sums.Copy()) {
    log_.Append(following, SumEntry{.block = id,
                                    .round = round,
                                    .samples = gathered.samples,
                                    .size = block.state.size(),
                                    .sum = std::move(gathered.sum)});
  }
}

void JobShard::LogCommand(const CommandEntry& done) {
  log_.Append(log_.following(), done, /*acknowledge=*/true);
}

absl::Status JobShard::BeginReplay(
    std::function<void(const absl::Status&)> end) {
  absl::MutexLock lock(&replay_mu_);
  if (stopped_.load()) return pulls_.status();
  if (serving_.load() || replays_) {
    return absl::FailedPreconditionError(
        "this server is no backup of the shard that could be filled");
  }
  replays_ = true;
  end_replay_ = std::move(end);
  return absl::OkStatus();
}

absl::Status JobShard::Replay(const ReplicaEntry& entry) {
  absl::MutexLock lock(&replay_mu_);
  if (stopped_.load()) return pulls_.status();
  if (serving_.load()) {
    return absl::AbortedError("this server is the shard's primary now");
  }
  return std::visit(
      [this](const auto& of) {
        replay_mu_.AssertHeld();
        return ReplayEntry(of);
      },
      entry);
}

absl::StatusOr<uint64_t> JobShard::BecomePrimary() {
  std::function<void(const absl::Status&)> end;
  uint64_t sequence = 0;
  {
    absl::MutexLock lock(&replay_mu_);
    if (stopped_.load()) return pulls_.status();
    if (!filled_ || !initialized()) {
      return absl::FailedPreconditionError(
          "this backup has not got everything of the shard");
    }
    serving_.store(true);
    sequence = sequence_;
    end = std::move(end_replay_);
  }
  if (end) end(absl::AbortedError("this server is the shard's primary now"));
  return sequence;
}

absl::Status JobShard::ReplayEntry(const BaseEntry& base) {
  replay_mu_.AssertHeld();
  for (const auto& [incarnation, answer] : base.fenced) {
    contributors_.ReplayFence(incarnation, answer);
  }
  pulls_.SetNewestSnapshot(base.snapshot);
  sequence_ = base.sequence;
  absl::MutexLock lock(&closing_mu_);
  closing_ = base.closing;
  pulls_.Advance(base.closing).Send();
  return absl::OkStatus();
}

absl::Status JobShard::ReplayEntry(const StateEntry& state) {
  PACELINE_ASSIGN_OR_RETURN(const uint32_t index, FindBlock(state.block));
  HostedBlock& block = *blocks_[index];
  if (state.state->size() != block.state.size() ||
      state.state->slots() != block.state.slots()) {
    return WrongSize(state.block);
  }
  const bool first = block.state.Read() == nullptr;
  // It was made of what came, for this.
  block.state.Put(std::const_pointer_cast<BlockState>(state.state));
  for (const TakenBlock& taken : state.taken) {
    PACELINE_ASSIGN_OR_RETURN(const std::shared_ptr<Contributor> contributor,
                              contributors_.Find(taken.incarnation));
    contributor->Replay(index, state.block, taken);
  }
  if (first) CountInitialized();
  return absl::OkStatus();
}

absl::Status JobShard::ReplayEntry(const SumEntry& sum) {
  PACELINE_ASSIGN_OR_RETURN(const uint32_t index, FindBlock(sum.block));
  HostedBlock& block = *blocks_[index];
  if (sum.size != block.state.size()) return WrongSize(sum.block);
  RoundSum gathered{.samples = sum.samples, .sum = MakeFloatBuffer(sum.size)};
  std::copy_n(sum.sum.get(), sum.size, gathered.sum.get());
  return block.sums.Put(sum.round, std::move(gathered));
}

absl::Status JobShard::ReplayEntry(const FilledEntry&) {
  replay_mu_.AssertHeld();
  if (!initialized()) {
    return absl::InvalidArgumentError("the primary has left out blocks");
  }
  training_begun_.store(true);
  filled_ = true;
  return absl::OkStatus();
}

absl::Status JobShard::ReplayEntry(const PushEntry& push) {
  const PushBlock head = ToPush(push);
  PACELINE_RETURN_IF_ERROR(ValidatePush(head));
  PACELINE_ASSIGN_OR_RETURN(const uint32_t index, FindBlock(push.block));
  HostedBlock& block = *blocks_[index];
  if (block.state.Read() == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a push came for block ", push.block, " before what the block is"));
  }
  PACELINE_ASSIGN_OR_RETURN(const std::shared_ptr<Contributor> contributor,
                            contributors_.Find(push.incarnation));
  if (!push.refused) {
    PACELINE_RETURN_IF_ERROR(
        FindBlock(push.block, push.payload, push.dtype).status());
    PACELINE_RETURN_IF_ERROR(Take(block, head, push.payload, push.dtype));
  }
  contributor->Replay(index, push.block,
                      {.incarnation = push.incarnation,
                       .iteration = push.iteration,
                       .samples = push.samples,
                       .refused = push.refused});
  return absl::OkStatus();
}

absl::Status JobShard::ReplayEntry(const DrainEntry& drain) {
  PACELINE_ASSIGN_OR_RETURN(const uint32_t index, FindBlock(drain.block));
  if (!(drain.rate >= 0 && drain.rate <= kRateMax &&
        IsMomentum(drain.momentum))) {
    return absl::InvalidArgumentError(
        "a drain's rate or momentum is out of range");
  }
  HostedBlock& block = *blocks_[index];
  if (block.state.Read() == nullptr) return WrongSize(drain.block);
  absl::MutexLock order(&block.order);
  DrainBlock(block, drain.rounds, drain.rate, drain.momentum);
  return absl::OkStatus();
}

absl::Status JobShard::ReplayEntry(const CommandEntry& command) {
  replay_mu_.AssertHeld();
  sequence_ = std::max(sequence_, command.sequence);
  if (const auto* closing = std::get_if<ClosingDone>(&command.what)) {
    absl::MutexLock lock(&closing_mu_);
    closing_ = std::max(closing_, closing->closing);
    pulls_.Advance(closing_).Send();
  } else if (const auto* fence = std::get_if<FenceDone>(&command.what)) {
    contributors_.ReplayFence(fence->incarnation, fence->answer);
  } else if (const auto* taken = std::get_if<SnapshotDone>(&command.what)) {
    // One that finds no room here, or not all blocks, is missed by its
    // evaluation alone.
    if (!filled_ || !Snapshot(taken->snapshot).ok()) {
      pulls_.SetNewestSnapshot(taken->snapshot);
    }
  } else if (const auto* gone = std::get_if<SnapshotReleased>(&command.what)) {
    ReleaseSnapshot(gone->snapshot);
  }
  return absl::OkStatus();
}

}  // namespace paceline
