// What becomes of a run's shards when servers come and go.

#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/overloaded.h"
#include "services/coordinator/run/course/course.h"

namespace paceline {

void RunCourse::PerformShardActions(const Turn& turn) {
  for (const ShardAction& action : std::exchange(shard_actions_, {})) {
    std::visit(
        Overloaded{
            [&](const ShardNotice& notice) {
              turn.outputs.push_back(
                  Notice{"job", notice.kind, notice.text, notice.costs_work});
            },
            [&](const RebuildShard& order) { Rebuild(turn, order); },
            [&](const FillShard& order) { Fill(turn, order.shard); },
            [&](const ShardLost& lost) {
              sources_.Forget(lost.shard);
              LoseShard(
                  turn, lost.server,
                  absl::UnavailableError(absl::StrCat(
                      "parameter server ", shards_.NameOf(lost.server),
                      " is gone with its part of the model: ", lost.why)));
            },
            [&](const auto& order) { turn.outputs.push_back(order); }},
        action);
  }
}

void RunCourse::GoOnElsewhere(const Turn& turn, int shard) {
  turn.outputs.push_back(
      ResendCommands{shard, commands_.Reissue(turn.now, shard)});
  PerformShardActions(turn);
  if (core_ == nullptr) return;
  checkpoints_.ShardMoved(MomentOf(turn), shard, stage_ == RunStage::kSaving);
}

void RunCourse::Rebuild(const Turn& turn, const RebuildShard& order) {
  const ServerCommands::Carried& carried = commands_.CarriedOut(order.shard);
  HostRebuilt host{.server = order.server,
                   .shard = order.shard,
                   .epoch = order.epoch,
                   .sequence = carried.sequence,
                   .closing = carried.closing,
                   .snapshot = carried.snapshot};
  if (shards_.shards()[order.shard].bytes > 0) {
    const std::optional<std::string> folder =
        sources_.Choose(order.shard, checkpoints_.last_written());
    if (!folder.has_value() || stage_ >= RunStage::kEvaluating) {
      shards_.Unfillable(
          order.shard, "no worker has its weights, and no checkpoint is there",
          shard_actions_);
      return PerformShardActions(turn);
    }
    host.restore_from = *folder;
  }
  turn.outputs.push_back(std::move(host));
}

void RunCourse::Fill(const Turn& turn, int shard) {
  const ShardMap::Shard& of = shards_.shards()[shard];
  const std::optional<WorkerId> filler = sources_.FillerOf(shard);
  if (filler.has_value()) {
    turn.outputs.push_back(FillFromCopy{*filler, shard, of.primary, of.epoch});
    return;
  }
  // It has what the checkpoint had.
  shards_.Filled(turn.now, shard, of.epoch, shard_actions_);
  GoOnElsewhere(turn, shard);
  if (of.bytes == 0) return;
  TellRebuilt(
      turn, shard,
      sources_.TextOf(checkpoints_.last_written(), core_->samples_counted()));
}

void RunCourse::LoseFiller(const Turn& turn, WorkerId worker) {
  for (const int shard : sources_.FilledBy(worker)) {
    if (!sources_.ChooseNext(shard)) {
      shards_.RebuildAnew(turn.now, shard, shard_actions_);
      PerformShardActions(turn);
    } else if (shards_.shards()[shard].rebuilding ==
               ShardMap::Rebuilding::kFilling) {
      Fill(turn, shard);
    }
  }
}

void RunCourse::TellRebuilt(const Turn& turn, int shard,
                            const std::string& source) {
  const double share = static_cast<double>(shards_.shards()[shard].bytes) /
                       static_cast<double>(model_.Elements() * sizeof(float));
  lost_updates_ = absl::StrFormat(
      "shard %d, %.0f %% of the weights, was lost with its server and goes on "
      "from %s",
      shard, 100 * share, source);
  turn.outputs.push_back(Notice{
      "job", "rebuilt",
      absl::StrCat(lost_updates_, "; ", shards_.PrimaryOf(shard), " has it")});
  TellWarning(turn);
}

void RunCourse::LoseShard(const Turn& turn, int server,
                          const absl::Status& why) {
  if (stage_ == RunStage::kEvaluating) {
    // The result is saved, or was never to be.
    StopEvaluating(turn, absl::StrCat("parameter server ",
                                      shards_.NameOf(server), " is gone"));
  } else if (failure_.ok()) {
    failure_ = why;
    // One that goes without a word may do so because of this very job.
    const bool left = shards_.servers()[server].leaving;
    outcome_.out_of_servers = stage_ < RunStage::kTraining && left;
    outcome_.weights_lost = stage_ >= RunStage::kTraining;
    outcome_.unrestored = options_.restored && stage_ == RunStage::kHosting &&
                          !absl::IsUnavailable(why);
    if (outcome_.weights_lost && left && checkpoints_.kept()) {
      outcome_.left_unsaved = true;
      failure_ = absl::UnavailableError(absl::StrCat(
          "parameter server ", shards_.NameOf(server),
          " was told to stop and has gone before the weights were saved",
          checkpoints_.failure().ok() ? "" : ": ",
          checkpoints_.failure().message()));
    }
  }
}

}  // namespace paceline
