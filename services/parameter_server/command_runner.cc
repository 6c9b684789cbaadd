#include "services/parameter_server/command_runner.h"

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/log/log.h"
#include "common/status.h"

namespace paceline {
namespace {

// `host` has the number 1; the shard that it makes counts from there.
constexpr uint64_t kHostSequence = 1;

absl::StatusOr<ShardConfig> ToConfig(const v1::HostJob& host) {
  ShardConfig config;
  for (const v1::Block& block : host.blocks()) {
    if (block.offset() < 0 || block.size() < 0 ||
        block.size() > kBlockElementsMax) {
      return absl::InvalidArgumentError(absl::StrCat(
          "block ", block.id(), " has an impossible offset or size"));
    }
    config.blocks.push_back({block.id(), absl::StrCat("#", block.tensor()),
                             static_cast<uint64_t>(block.offset()),
                             static_cast<uint32_t>(block.size()),
                             block.statistic()});
  }
  PACELINE_ASSIGN_OR_RETURN(config.optimizer,
                            ParseOptimizerSpec(host.job().optimizer()));
  PACELINE_ASSIGN_OR_RETURN(config.round_strength,
                            ParseRoundStrength(host.job().round_strength()));
  config.batch_size = host.job().batch_size();
  return config;
}

}  // namespace

absl::StatusOr<v1::CommandDone> CommandRunner::Run(
    const v1::ServerCommand& command) {
  v1::CommandDone done;
  done.set_sequence(command.sequence());
  if (command.has_host()) {
    PACELINE_RETURN_IF_ERROR(Host(command.host()));
    return done;
  }
  PACELINE_ASSIGN_OR_RETURN(const std::shared_ptr<JobShard> job, shard_->Job());
  const uint64_t sequence = command.sequence() - kHostSequence;
  if (command.has_close()) {
    PACELINE_RETURN_IF_ERROR(Close(sequence, command.close()));
  } else if (command.has_fence()) {
    PACELINE_ASSIGN_OR_RETURN(
        const auto answer, job->Fence(sequence, command.fence().incarnation()));
    done.mutable_fence()->set_iteration(answer.iteration);
    done.mutable_fence()->set_blocks_taken(answer.blocks_taken);
    done.mutable_fence()->set_blocks(answer.blocks);
    done.mutable_fence()->set_samples(answer.samples);
  } else if (command.has_snapshot()) {
    const absl::Status kept =
        job->Snapshot(sequence, command.snapshot().snapshot());
    if (!absl::IsResourceExhausted(kept)) PACELINE_RETURN_IF_ERROR(kept);
    if (!kept.ok()) LogWarning(kept.message());
  } else if (command.has_release_snapshot()) {
    PACELINE_RETURN_IF_ERROR(
        job->ReleaseSnapshot(sequence, command.release_snapshot().snapshot()));
  } else {
    return absl::InvalidArgumentError("that is no command");
  }
  return done;
}

absl::Status CommandRunner::Host(const v1::HostJob& host) {
  PACELINE_ASSIGN_OR_RETURN(ShardConfig config, ToConfig(host));
  return shard_->Configure(std::move(config));
}

absl::Status CommandRunner::Close(uint64_t sequence,
                                  const v1::CloseRound& close) {
  PACELINE_ASSIGN_OR_RETURN(const std::shared_ptr<JobShard> job, shard_->Job());
  const std::vector<uint64_t> rounds(close.rounds().begin(),
                                     close.rounds().end());
  const Clock& clock = Clock::Real();
  const absl::Time began = clock.Now();
  PACELINE_RETURN_IF_ERROR(
      job->Close(sequence, close.closing(), rounds, close.rate()));
  metrics_->closings.Increment();
  metrics_->closing_seconds.Observe(absl::ToDoubleSeconds(clock.Now() - began));
  return absl::OkStatus();
}

}  // namespace paceline
