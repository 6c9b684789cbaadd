// A job's rounds, as the coordinator has them closed.

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "services/parameter_server/job_shard.h"

namespace paceline {
namespace {

absl::Status CheckClosing(int64_t closing, double rate,
                          std::optional<double> momentum) {
  if (!(rate >= 0 && rate <= kRateMax)) {
    return absl::InvalidArgumentError(
        absl::StrCat("closing ", closing, ": the rate ", rate,
                     " is not in [0, ", kRateMax, "]"));
  }
  if (!IsMomentum(momentum)) {
    return absl::InvalidArgumentError(absl::StrCat("closing ", closing,
                                                   ": the momentum ", *momentum,
                                                   " is not in [0, 1)"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::optional<MeanGradient>> JobShard::Close(
    int64_t closing, absl::Span<const uint64_t> rounds, double rate,
    std::optional<double> momentum) {
  if (stopped_.load()) return pulls_.status();
  PullAnswers answers;
  std::optional<MeanGradient> mean;
  {
    absl::MutexLock lock(&closing_mu_);
    if (closing <= closing_) {
      return absl::InvalidArgumentError(absl::StrCat(
          "closing ", closing, " is not above the last, ", closing_));
    }
    PACELINE_RETURN_IF_ERROR(CheckClosing(closing, rate, momentum));
    {
      // Before the first block: what comes for one after that is of a later
      // closing.
      absl::MutexLock announced(&announced_mu_);
      announced_ = nullptr;
    }
    mean = DrainRounds(closing, rounds, rate, momentum);
    closing_ = closing;
    answers = pulls_.Advance(closing);
  }
  std::move(answers).Send();
  return mean;
}

absl::Status JobShard::Announce(const AnnouncedClosing& announced) {
  if (stopped_.load()) return pulls_.status();
  PACELINE_RETURN_IF_ERROR(
      CheckClosing(announced.closing, announced.rate, std::nullopt));
  if (announced.gradients == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "closing ", announced.closing, " is announced for no gradients"));
  }
  std::shared_ptr<OpenAnnouncement> open;
  {
    absl::MutexLock lock(&closing_mu_);
    if (announced.closing != closing_ + 1 || pushed_blocks_ == 0) {
      return absl::OkStatus();
    }
    open = std::make_shared<OpenAnnouncement>(announced, pushed_blocks_);
    absl::MutexLock set(&announced_mu_);
    announced_ = open;
  }
  // What came before this.
  for (const auto& block : blocks_) DrainAhead(*block, *open);
  return absl::OkStatus();
}

void JobShard::DrainAhead(uint32_t block) {
  const std::shared_ptr<OpenAnnouncement> open = announced();
  if (open == nullptr) return;
  const absl::StatusOr<uint32_t> index = FindBlock(block);
  if (index.ok()) DrainAhead(*blocks_[*index], *open);
}

void JobShard::DrainAhead(HostedBlock& block, OpenAnnouncement& announced) {
  const AnnouncedClosing& closing = announced.what;
  {
    absl::MutexLock order(&block.order);
    // The closing itself may have come meanwhile.
    if (this->announced().get() != &announced ||
        !DrainIfGathered(block, closing)) {
      return;
    }
  }
  // Nobody goes on with what would be lost with this server.
  if (log_.tells_at_once()) {
    TellEarly(block, pulls_.WaitingFor(closing.closing));
  }
  if (announced.undrained.fetch_sub(1) > 1) return;
  log_.WhenHeld(
      [this, closing = closing.closing] { pulls_.Advance(closing).Send(); });
}

bool JobShard::DrainIfGathered(HostedBlock& block,
                               const AnnouncedClosing& closing) {
  if (block.ahead.closing == closing.closing ||
      block.sums.GradientsOf(closing.round) != closing.gradients) {
    return false;
  }
  const Drained drained =
      *DrainBlock(block, {&closing.round, 1}, closing.rate, std::nullopt);
  block.ahead = {closing.closing, drained.samples, drained.square};
  return true;
}

bool JobShard::HoldBack() {
  absl::MutexLock lock(&closing_mu_);
  {
    absl::MutexLock withdrawn(&announced_mu_);
    announced_ = nullptr;
  }
  if (taken_at_ != closing_) return false;
  for (const auto& block : blocks_) {
    absl::MutexLock order(&block->order);
    if (block->ahead.closing > closing_) return false;
  }
  return true;
}

std::optional<MeanGradient> JobShard::DrainRounds(
    int64_t closing, absl::Span<const uint64_t> rounds, double rate,
    std::optional<double> momentum) {
  const auto waiting = pulls_.WaitingFor(closing);
  MeanGradientSum mean;
  for (const auto& block : blocks_) {
    bool ahead = false;
    {
      absl::MutexLock order(&block->order);
      std::optional<Drained> drained =
          DrainBlock(*block, rounds, rate, momentum);
      ahead = block->ahead.closing == closing;
      if (ahead && !drained.has_value()) {
        drained = {block->ahead.samples, block->ahead.square};
      } else if (ahead) {
        drained.reset();  // It came in two parts, of which there is no mean.
      }
      if (block->config.kind == TensorKind::kTrained) {
        const Drained of = drained.value_or(Drained{});
        mean.Add(of.samples, of.square);
      }
    }
    // Who was told of one that is done already is not told again.
    if (!ahead && block->config.kind != TensorKind::kFrozen) {
      TellEarly(*block, waiting);
    }
  }
  return mean.Sum();
}

void JobShard::TellEarly(
    const HostedBlock& block,
    absl::Span<const std::shared_ptr<const EarlyBlock>> waiting) {
  if (waiting.empty()) return;
  const PulledBlock pulled{block.config.id, block.state.Read()};
  for (const auto& early : waiting) (*early)(pulled);
}

std::optional<JobShard::Drained> JobShard::DrainBlock(
    HostedBlock& block, absl::Span<const uint64_t> rounds, double rate,
    std::optional<double> momentum) {
  std::optional<RoundSum> gathered = block.sums.Drain(rounds);
  if (!gathered.has_value()) return std::nullopt;
  Drained drained{.samples = gathered->samples};
  Contribution contribution = rule_.Round(gathered->samples, rate);
  contribution.momentum = momentum;
  const bool trained = block.config.kind == TensorKind::kTrained;
  Apply(block, contribution,
        Payload::OfFloats(gathered->sum.get(), block.state.size()), DType::kF32,
        trained ? &drained.square : nullptr);
  block.sums.Recycle(std::move(gathered->sum));
  const uint64_t following = log_.following();
  if (IsFollowed(block, following)) {
    log_.Append(
        following,
        DrainEntry{
            block.config.id, {rounds.begin(), rounds.end()}, rate, momentum});
  }
  return drained;
}

}  // namespace paceline
