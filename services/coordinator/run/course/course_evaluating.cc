// Evaluations of a run.

#include <utility>

#include "absl/strings/str_cat.h"
#include "services/coordinator/run/course/course.h"

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

void RunCourse::JudgeEvaluation(const Turn& turn, const EvaluatorKnown& known) {
  absl::Duration patience = 3 * options_.lease;
  std::string leaving;
  if (end_.pausing.has_value()) {
    leaving = "the job is paused";
    patience = end_.pausing->evaluate_for;
  } else if (outcome_.out_of_workers) {
    leaving = "the job waits for workers";
  }
  const bool possible = evaluations_.has_evaluator() || known.exists;
  if (!possible && !leaving.empty()) {
    // Workers may be free by now, and who pauses waits for the end.
    return StopEvaluating(
        turn, absl::StrCat(leaving, ", and ",
                           known.why_none.empty() ? "no evaluator is connected"
                                                  : known.why_none));
  }
  // Whoever has said so is not asked again.
  if (!possible && !known.why_none.empty()) {
    return StopEvaluating(turn, known.why_none);
  }
  if (possible && leaving.empty()) worth_waiting_ = turn.now;
  if (turn.now - worth_waiting_ < patience) return;
  StopEvaluating(turn, leaving.empty()
                           ? "no evaluator is connected that could do it; the "
                             "training itself has finished"
                           : leaving);
}

void RunCourse::StopEvaluating(const Turn& turn, absl::string_view why) {
  if (evaluations_.pending() > 0) {
    const std::string text = absl::StrCat(
        evaluations_.pending(), " snapshots are not evaluated: ", why);
    absl::StrAppend(&outcome_.warning, outcome_.warning.empty() ? "" : "; ",
                    text);
    turn.outputs.push_back(Notice{"job", "evaluation", text});
  }
  End(turn, absl::OkStatus());
}

}  // namespace paceline
