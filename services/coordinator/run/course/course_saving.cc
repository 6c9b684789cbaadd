// Evaluations and checkpoints of a run.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "services/coordinator/run/course/course.h"
#include "services/coordinator/run/course/time_limits.h"

namespace paceline {

void RunCourse::ChooseEvaluator(const Turn& turn) {
  // One at a time; others that came wait for it to go.
  for (const WorkerId worker : members_.Present()) {
    if (evaluations_.has_evaluator()) break;
    const RunMember& member = *members_.Find(worker);
    if (member.evaluator && member.state == RunMember::State::kWorking) {
      evaluations_.EvaluatorCame(worker);
    }
  }
  GiveOutEvaluation(turn);
}

void RunCourse::GiveOutEvaluation(const Turn& turn) {
  const auto task = evaluations_.TakeNext(turn.now);
  if (!task.has_value()) return;
  // A job that stops at its target evaluates while others train.
  turn.outputs.push_back(
      EvaluateSnapshot{task->evaluator, task->snapshot,
                       settings_.stop.at_target && !task->last});
}

void RunCourse::DropEvaluation(const Turn& turn, int64_t snapshot,
                               std::string who, const absl::Status& why) {
  const std::vector<int64_t> dropped =
      evaluations_.Drop(snapshot, absl::IsResourceExhausted(why));
  if (dropped.empty()) return;
  for (const int64_t released : dropped) {
    turn.outputs.push_back(
        NumberedCommand{commands_.Next(turn.now), ReleaseSnapshot{released}});
  }
  std::string text = absl::StrCat(
      "snapshot ", snapshot, " is not evaluated: ", who, ": ", why.message());
  if (dropped.size() > 1) {
    absl::StrAppend(&text, "; ", dropped.size() - 1,
                    " others give way, and one in ", evaluations_.stride(),
                    " is taken from now on");
  }
  turn.outputs.push_back(Notice{"job", "evaluation", std::move(text)});
  GiveOutEvaluation(turn);
}

void RunCourse::JudgeEvaluation(const Turn& turn, bool evaluator_exists) {
  absl::Duration patience = 3 * options_.lease;
  std::string leaving;
  if (pausing_.has_value()) {
    leaving = "the job is paused";
    patience = pausing_->evaluate_for;
  } else if (out_of_workers_) {
    leaving = "the job waits for workers";
  }
  const bool possible = evaluations_.has_evaluator() || evaluator_exists;
  if (!possible && !leaving.empty()) {
    // Workers may be free by now, and who pauses waits for the end.
    return StopEvaluating(
        turn, absl::StrCat(leaving, ", and no evaluator is connected"));
  }
  if (possible && leaving.empty()) worth_waiting_ = turn.now;
  if (turn.now - worth_waiting_ < patience) return;
  StopEvaluating(turn, leaving.empty()
                           ? "no evaluator is connected that could do it; the "
                             "training itself has finished"
                           : leaving);
}

void RunCourse::StopEvaluating(const Turn& turn, std::string why) {
  if (evaluations_.pending() > 0) {
    turn.outputs.push_back(
        Notice{"job", "evaluation",
               absl::StrCat(evaluations_.pending(),
                            " snapshots are not evaluated: ", why)});
  }
  End(turn, absl::OkStatus());
}

std::string RunCourse::CheckpointId(absl::string_view kind) const {
  // A job that was restored may come to the same samples again.
  return absl::StrFormat("%s-%d-%04x", kind, core_->samples_counted(),
                         options_.run);
}

bool RunCourse::BeginCheckpoint(const Turn& turn, const std::string& id) {
  if (!checkpoint_.idle()) return false;
  CheckpointWriting::Order order;
  order.id = id;
  order.directory = absl::StrCat(options_.checkpoint_root, "/", id);
  order.begun = turn.now;
  order.seconds = SecondsAt(turn.now);
  order.point = core_->TakeResumePoint();
  const uint64_t sequence = commands_.Next(turn.now);
  checkpoint_.Begin(order, options_.servers.size(), sequence);
  turn.outputs.push_back(
      CheckpointChanged{checkpoint_.order(), CheckpointChanged::State::kWriting,
                        absl::OkStatus(), absl::ZeroDuration()});
  turn.outputs.push_back(NumberedCommand{
      sequence, WriteBlocks{order.point.snapshot, order.directory}});
  return true;
}

void RunCourse::LookAfterCheckpoint(const Turn& turn) {
  if (checkpoint_.idle()) return;
  if (checkpoint_.AllWritten() && !checkpoint_.writes_manifest()) {
    if (!checkpoint_.failure().ok()) {
      return EndCheckpoint(turn, checkpoint_.failure());
    }
    checkpoint_.BeginManifest();
    turn.outputs.push_back(CompleteCheckpoint{checkpoint_.order()});
    return;
  }
  if (checkpoint_.order().begun >= turn.now - kCheckpointTimeout) return;
  std::vector<std::string> writing;
  for (const int server : checkpoint_.StillWriting()) {
    writing.push_back(options_.servers[server]);
  }
  if (writing.empty()) writing = {"the coordinator"};
  EndCheckpoint(turn,
                absl::DeadlineExceededError(absl::StrCat(
                    "not written in time by ", absl::StrJoin(writing, ", "),
                    ": look at the disk of the checkpoints")));
}

void RunCourse::EndCheckpoint(const Turn& turn, const absl::Status& written) {
  // Files of a checkpoint that failed are of no use. While a server may still
  // write to them they stay, for whoever deletes the checkpoint.
  const bool remove = !written.ok() && checkpoint_.AllWritten();
  const CheckpointWriting::Order order = checkpoint_.End(written);
  if (remove) turn.outputs.push_back(RemoveCheckpointFiles{order.directory});
  turn.outputs.push_back(
      CheckpointChanged{order,
                        written.ok() ? CheckpointChanged::State::kReady
                                     : CheckpointChanged::State::kFailed,
                        written, turn.now - order.begun});
}

}  // namespace paceline
