#include "services/coordinator/run/course/run_checkpoints.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "services/coordinator/run/course/time_limits.h"

namespace paceline {

RunCheckpoints::RunCheckpoints(const CourseOptions& options)
    : run_(options.run),
      lease_(options.lease),
      folders_(options.checkpoint_fallbacks),
      result_(1 + options.checkpoint_fallbacks.size()) {
  folders_.insert(folders_.begin(), options.checkpoint_root);
}

void RunCheckpoints::SetInterval(absl::Time now, absl::Duration interval) {
  next_due_ = kept() && interval > absl::ZeroDuration()
                  ? now + interval
                  : absl::InfiniteFuture();
}

void RunCheckpoints::BeginWanted(const Moment& moment,
                                 absl::Duration interval) {
  BeginOrdered(moment);
  if (moment.now >= next_due_) BeginDue(moment, interval);
}

void RunCheckpoints::BeginOrdered(const Moment& moment) {
  if (!ordered_.has_value()) return;
  const WriteCheckpoint order = *std::exchange(ordered_, std::nullopt);
  Begin(moment, order.id, FolderOf(order));
}

void RunCheckpoints::BeginDue(const Moment& moment, absl::Duration interval) {
  SetInterval(moment.now, interval);
  const std::string id = Id(moment, "auto");
  if (id == last_interval_id_ || !writing_.idle()) return;
  Begin(moment, id, folders_.front());
  last_interval_id_ = id;
}

absl::Status RunCheckpoints::Order(const Moment& moment,
                                   const WriteCheckpoint& order,
                                   bool of_result) {
  if (of_result && !order.folder.empty() && !writing_.idle()) {
    // Whoever names a folder knows that the other one is no good.
    purpose_ = Purpose::kOther;
    End(moment, absl::AbortedError(absl::StrCat("given up for ", order.id,
                                                " in ", order.folder)));
  }
  if (!writing_.idle() || ordered_.has_value()) {
    return absl::UnavailableError(
        "a checkpoint of the job is being written: try again when it is ready");
  }
  if (moment.core->closing_announced()) {
    ordered_ = order;
    return absl::OkStatus();
  }
  if (of_result) {
    result_.Begin();
    purpose_ = Purpose::kOrderedResult;
  }
  Begin(moment, order.id, FolderOf(order));
  return absl::OkStatus();
}

absl::Time RunCheckpoints::next_try() const {
  if (!writing_.idle()) return absl::InfiniteFuture();
  absl::Time next = result_.next_try();
  const std::string beside = absl::StrCat(folders_[result_.folder()], "/");
  for (const auto& [directory, until] : removing_) {
    if (absl::StartsWith(directory, beside)) next = std::max(next, until);
  }
  return next;
}

void RunCheckpoints::SaveResult(const Moment& moment, absl::string_view kind) {
  if (next_try() > moment.now) return;
  left_behind_ +=
      static_cast<int>(std::erase_if(removing_, [&](const auto& removal) {
        return removal.second <= moment.now;
      }));
  std::string id = Id(moment, kind);
  if (left_behind_ > 0) absl::StrAppend(&id, "-", left_behind_ + 1);
  // The training went on, and nothing was counted since.
  if (last_written().has_value() && id == last_written()->id) {
    return result_.Succeeded();
  }
  result_.Begin();
  purpose_ = Purpose::kResult;
  Begin(moment, id, folders_[result_.folder()]);
}

void RunCheckpoints::TrainOn(const Moment& moment, absl::Duration interval) {
  purpose_ = Purpose::kOther;
  result_ = ResultSaving(folders_.size());
  SetInterval(moment.now, interval);
  if (std::exchange(delayed_, false)) {
    moment.outputs.push_back(SavingSucceeded{});
  }
}

std::string RunCheckpoints::Id(const Moment& moment,
                               absl::string_view kind) const {
  // A job that was restored may come to the same samples again.
  return absl::StrFormat("%s-%d-%04x", kind, moment.core->samples_counted(),
                         run_);
}

void RunCheckpoints::Begin(const Moment& moment, const std::string& id,
                           const std::string& folder) {
  CheckpointWriting::Order order;
  order.id = id;
  order.directory = absl::StrCat(folder, "/", id);
  order.begun = moment.now;
  order.seconds = moment.seconds;
  order.point = moment.core->TakeResumePoint();
  const uint64_t sequence = moment.commands->Next(moment.now);
  writing_.Begin(order, moment.shards->shards().size(), sequence);
  moment.outputs.push_back(CheckpointChanged{
      writing_.order(), CheckpointChanged::State::kWriting, absl::OkStatus(),
      absl::ZeroDuration(),
      /*again=*/purpose_ == Purpose::kResult && id == failed_id_});
  moment.outputs.push_back(NumberedCommand{
      sequence, WriteBlocks{order.point.snapshot, order.directory}});
}

const std::string& RunCheckpoints::FolderOf(
    const WriteCheckpoint& order) const {
  return order.folder.empty() ? folders_.front() : order.folder;
}

void RunCheckpoints::Written(const Moment& moment, const ServerWrote& wrote,
                             bool of_result) {
  writing_.Written(wrote.shard, moment.shards->PrimaryOf(wrote.shard),
                   wrote.snapshot, wrote.status, wrote.file);
  Look(moment, of_result);
}

void RunCheckpoints::WriterLost(const Moment& moment, int shard,
                                absl::string_view why) {
  // One that has not begun is told again.
  if (writing_.idle() || !moment.commands->IsDone(shard, writing_.sequence())) {
    return;
  }
  writing_.Written(shard, moment.shards->PrimaryOf(shard),
                   writing_.order().point.snapshot, absl::UnavailableError(why),
                   {});
}

void RunCheckpoints::ShardMoved(const Moment& moment, int shard,
                                bool of_result) {
  if (!absl::c_linear_search(writing_.StillWriting(), shard)) return;
  WriterLost(moment, shard, "it has taken over from a server that was writing");
  Look(moment, of_result);
}

void RunCheckpoints::Restarted(const Moment& moment, bool of_result) {
  for (const auto& [directory, until] : removing_) {
    moment.outputs.push_back(RemoveCheckpointFiles{directory});
  }
  if (writing_.idle()) return;
  if (writing_.writes_manifest()) {
    moment.outputs.push_back(CompleteCheckpoint{writing_.order()});
    return;
  }
  for (const int shard : writing_.StillWriting()) {
    WriterLost(moment, shard,
               "the coordinator has restarted while it was writing");
  }
  Look(moment, of_result);
}

void RunCheckpoints::ManifestWritten(const Moment& moment,
                                     const paceline::ManifestWritten& written) {
  if (writing_.idle() || !writing_.writes_manifest() ||
      writing_.order().id != written.id) {
    return;  // It was given up meanwhile.
  }
  writing_.EndManifest();
  End(moment, written.status);
}

void RunCheckpoints::Look(const Moment& moment, bool of_result) {
  if (writing_.idle()) return;
  if (writing_.AllWritten() && !writing_.writes_manifest()) {
    if (!writing_.failure().ok()) return End(moment, writing_.failure());
    writing_.BeginManifest();
    moment.outputs.push_back(CompleteCheckpoint{writing_.order()});
    return;
  }
  const absl::Duration taken = moment.now - writing_.order().begun;
  if (taken <= kCheckpointTimeout) {
    if (of_result && taken > lease_) TellSlow(moment);
    return;
  }
  End(moment, absl::DeadlineExceededError(
                  absl::StrCat("not written in time by ", StillWriting(moment),
                               ": look at the disk of the checkpoints")));
}

std::string RunCheckpoints::StillWriting(const Moment& moment) const {
  std::vector<std::string> writing;
  for (const int shard : writing_.StillWriting()) {
    writing.push_back(moment.shards->PrimaryOf(shard));
  }
  return writing.empty() ? "the coordinator" : absl::StrJoin(writing, ", ");
}

void RunCheckpoints::TellSlow(const Moment& moment) {
  const CheckpointWriting::Order& order = writing_.order();
  if (slow_id_ == order.id) return;
  slow_id_ = order.id;
  delayed_ = true;
  moment.outputs.push_back(SavingDelayed{
      absl::DeadlineExceededError(absl::StrCat(
          StillWriting(moment), " still writes to ", order.directory, " after ",
          absl::FormatDuration(lease_))),
      result_.tries(), absl::ZeroDuration()});
}

void RunCheckpoints::End(const Moment& moment, const absl::Status& written) {
  // Files of a checkpoint that failed are of no use. While a server may still
  // write to them they stay, for whoever deletes the checkpoint. What the
  // coordinator still writes is removed once that has ended.
  const bool remove = !written.ok() && writing_.AllWritten();
  const bool left_behind =
      !written.ok() && (!remove || writing_.writes_manifest());
  const CheckpointWriting::Order order = writing_.End(written);
  const Purpose purpose = purpose_;
  if (remove) moment.outputs.push_back(RemoveCheckpointFiles{order.directory});
  if (remove && !left_behind) removing_[order.directory] = moment.now + lease_;
  moment.outputs.push_back(CheckpointChanged{
      order,
      written.ok() ? CheckpointChanged::State::kReady
                   : CheckpointChanged::State::kFailed,
      written, moment.now - order.begun,
      /*again=*/purpose == Purpose::kResult && order.id == failed_id_});
  if (left_behind) ++left_behind_;
  if (purpose == Purpose::kOther) return;
  if (written.ok()) {
    AttemptSucceeded(moment, order.id);
  } else {
    AttemptFailed(moment, written, order.id);
  }
  purpose_ = Purpose::kOther;
}

void RunCheckpoints::AttemptFailed(const Moment& moment,
                                   const absl::Status& why,
                                   const std::string& id) {
  const bool of_turn = purpose_ == Purpose::kResult;
  result_.Failed(moment.now, why, of_turn);
  if (of_turn) failed_id_ = id;
  // The other folders come first.
  if (of_turn && result_.folder() > 0) return;
  moment.outputs.push_back(SavingDelayed{
      why, result_.tries(),
      std::max(absl::ZeroDuration(), result_.next_try() - moment.now)});
  if (std::exchange(delayed_, true)) return;
  moment.outputs.push_back(Notice{
      "job", "saving",
      absl::StrCat("the trained weights could not be saved: ", why.message(),
                   "; they stay with the servers, and it is tried again until "
                   "somebody cancels the job")});
}

void RunCheckpoints::AttemptSucceeded(const Moment& moment,
                                      const std::string& id) {
  result_.Succeeded();
  if (!delayed_) return;
  moment.outputs.push_back(SavingSucceeded{});
  moment.outputs.push_back(
      Notice{"job", "saving",
             absl::StrCat("the trained weights are saved as ", id,
                          ", by attempt ", result_.tries()),
             /*costs_work=*/false});
}

void RunCheckpoints::Abort(const Moment& moment, const absl::Status& why) {
  if (const auto ordered = std::exchange(ordered_, std::nullopt)) {
    CheckpointWriting::Order order;
    order.id = ordered->id;
    order.directory = absl::StrCat(FolderOf(*ordered), "/", ordered->id);
    order.begun = moment.now;
    order.seconds = moment.seconds;
    moment.outputs.push_back(CheckpointChanged{
        order, CheckpointChanged::State::kFailed, why, absl::ZeroDuration()});
  }
  if (writing_.idle()) return;
  purpose_ = Purpose::kOther;  // Nobody tries again.
  End(moment, why);
}

}  // namespace paceline
