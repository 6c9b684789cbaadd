// The coordinator's half of JobShard: its numbered commands.

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "services/parameter_server/job_shard.h"

namespace paceline {

absl::StatusOr<bool> JobShard::Admit(uint64_t sequence) {
  if (stopped_.load()) return pulls_.status();
  if (sequence <= last_sequence_) return false;
  if (sequence == last_sequence_ + 1) return true;
  return absl::FailedPreconditionError(
      absl::StrCat("command ", sequence, " came after command ", last_sequence_,
                   "; send those between first"));
}

absl::Status JobShard::Close(uint64_t sequence, int64_t closing,
                             absl::Span<const uint64_t> rounds, double rate) {
  PullAnswers answers;
  {
    absl::MutexLock lock(&commands_mu_);
    PACELINE_ASSIGN_OR_RETURN(const bool is_new, Admit(sequence));
    if (!is_new) return absl::OkStatus();
    if (closing <= closing_) {
      return absl::InvalidArgumentError(absl::StrCat(
          "closing ", closing, " is not above the last, ", closing_));
    }
    if (!(rate >= 0 && rate <= kRateMax)) {
      return absl::InvalidArgumentError(
          absl::StrCat("closing ", closing, ": the rate ", rate,
                       " is not in [0, ", kRateMax, "]"));
    }
    DrainRounds(rounds, rate);
    last_sequence_ = sequence;
    closing_ = closing;
    answers = pulls_.Advance(closing);
  }
  std::move(answers).Send();
  return absl::OkStatus();
}

void JobShard::DrainRounds(absl::Span<const uint64_t> rounds, double rate) {
  for (const auto& block : blocks_) {
    std::optional<RoundSum> gathered = block->sums.Drain(rounds);
    if (!gathered.has_value()) continue;
    Apply(*block, rule_.Round(gathered->samples, rate),
          Payload::OfFloats(gathered->sum.get(), block->state.size()),
          DType::kF32);
    block->sums.Recycle(std::move(gathered->sum));
  }
}

absl::StatusOr<FencedPush> JobShard::Fence(uint64_t sequence,
                                           uint64_t incarnation) {
  PullAnswers answers;
  FencedPush answer;
  {
    absl::MutexLock lock(&commands_mu_);
    PACELINE_ASSIGN_OR_RETURN(const bool is_new, Admit(sequence));
    if (!is_new && !contributors_.IsFenced(incarnation)) {
      return absl::InvalidArgumentError(
          absl::StrCat("command ", sequence,
                       " was applied before and fenced no such incarnation"));
    }
    // Where it is a repetition this only reads the record.
    answer = contributors_.Fence(incarnation);
    if (is_new) last_sequence_ = sequence;
    answers = pulls_.Fence(incarnation);
  }
  std::move(answers).Send();
  return answer;
}

absl::Status JobShard::Snapshot(uint64_t sequence, uint64_t snapshot) {
  PullAnswers answers;
  absl::Status added;
  {
    absl::MutexLock lock(&commands_mu_);
    PACELINE_ASSIGN_OR_RETURN(const bool is_new, Admit(sequence));
    if (!is_new) return absl::OkStatus();
    last_sequence_ = sequence;
    if (!initialized()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "snapshot ", snapshot, ": the blocks have no initial values yet"));
    }
    added = pulls_.AddSnapshot(snapshot, {closing_, ReadBlocks()}, answers);
  }
  std::move(answers).Send();
  return added;
}

absl::Status JobShard::ReleaseSnapshot(uint64_t sequence, uint64_t snapshot) {
  absl::MutexLock lock(&commands_mu_);
  PACELINE_ASSIGN_OR_RETURN(const bool is_new, Admit(sequence));
  if (!is_new) return absl::OkStatus();
  last_sequence_ = sequence;
  pulls_.ReleaseSnapshot(snapshot);
  return absl::OkStatus();
}

absl::StatusOr<std::optional<PulledBlocks>> JobShard::TakeBlocks(
    uint64_t sequence) {
  absl::MutexLock lock(&commands_mu_);
  PACELINE_ASSIGN_OR_RETURN(const bool is_new, Admit(sequence));
  if (!is_new) return std::nullopt;
  last_sequence_ = sequence;
  if (!initialized()) {
    return absl::FailedPreconditionError(
        "a checkpoint: the blocks have no initial values yet");
  }
  return PulledBlocks{closing_, ReadBlocks()};
}

uint64_t JobShard::last_sequence() const {
  absl::MutexLock lock(&commands_mu_);
  return last_sequence_;
}

}  // namespace paceline
