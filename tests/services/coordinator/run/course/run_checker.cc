#include "tests/services/coordinator/run/course/run_checker.h"

#include <algorithm>
#include <variant>

#include "absl/strings/str_cat.h"
#include "services/coordinator/run/course/time_limits.h"

namespace paceline {

void RunChecker::Begin(uint32_t train_samples, const RunStart& start,
                       bool keeps_checkpoints, bool limited,
                       Nanos silence_max) {
  keeps_checkpoints_ = keeps_checkpoints;
  limited_ = limited;
  silence_max_ = silence_max;
  counted_ = SamplesCounted(start.position, train_samples);
}

void RunChecker::Break(absl::string_view what) {
  if (violation_.empty()) violation_ = std::string(what);
}

void RunChecker::Observe(const RunOutput& output) {
  if (ended_) Break("an output after the end");
  std::visit([this](const auto& what) { See(what); }, output);
}

void RunChecker::Given(Nanos at, const RunInput& input) {
  std::visit(
      [&](const auto& what) {
        if constexpr (requires { what.worker; }) heard_[what.worker] = at;
      },
      input);
  if (const auto* restarted = std::get_if<CoordinatorRestarted>(&input)) {
    for (const WorkerId worker : restarted->awaited) {
      heard_[worker] = at + absl::ToInt64Nanoseconds(kRedialTime);
    }
  }
  pausing_ = std::holds_alternative<PauseRun>(input);
  if (std::holds_alternative<ResumeRun>(input)) paused_ = false;
  may_give_up_ = may_give_up_ || std::holds_alternative<CancelRun>(input) ||
                 std::holds_alternative<ServerLost>(input);
  reports_.reset();
  if (const auto* pushed = std::get_if<WorkerPushed>(&input)) {
    Iteration& last = pushed_[pushed->worker];
    if (pushed->report.iteration > last) reports_ = pushed->worker;
    last = std::max(last, pushed->report.iteration);
  } else if (const auto* asks = std::get_if<WorkerAsks>(&input)) {
    reports_ = asks->worker;
  }
  if (reports_.has_value() && !there_.contains(*reports_)) reports_.reset();
}

void RunChecker::Stepped(Nanos at, const RunCourse& course,
                         const absl::Status& status) {
  for (const WorkerId worker : there_) {
    if (!ended_ && at - heard_[worker] > silence_max_) {
      Break("somebody who is silent is kept");
    }
  }
  paused_ = paused_ || pausing_;
  // Who is evicted because nothing it pushes is finite hears of it so.
  const bool evicted = reports_.has_value() && !there_.contains(*reports_);
  if (reports_.has_value() && !status.ok() &&
      !(evicted && absl::IsOutOfRange(status))) {
    Break(status.ToString());
  }
  if (course.core() == nullptr) return;
  trained_ = true;
  if (course.core()->samples_counted() != counted_) {
    Break(absl::StrCat(course.core()->samples_counted(),
                       " samples are counted, and ", counted_, " were told"));
  }
  const int64_t total = course.core()->samples_total();
  const bool complete = ended_ && outcome_.status.ok() && !outcome_.paused;
  if (complete && !limited_ && counted_ < total) {
    Break(absl::StrCat("it says that it finished after ", counted_, " of ",
                       total, " samples"));
  }
}

void RunChecker::See(const AssignMember& assign) {
  if (!there_.insert(assign.worker).second) Break("assigned twice");
}

void RunChecker::See(const BeginWork& begin) {
  if (!there_.contains(begin.worker)) Break("somebody who is gone begins");
  begun_.insert(begin.worker);
}

void RunChecker::See(const Grant& grant) {
  if (!begun_.contains(grant.worker)) Break("a grant before the beginning");
  if (!there_.contains(grant.worker)) Break("a grant to somebody who is gone");
  if (paused_) Break("a grant after a pause");
  if (!open_.insert(grant.worker).second) Break("two grants");
}

void RunChecker::See(const DropReserved& drop) {
  if (!there_.contains(drop.worker)) Break("a lot of somebody who is gone");
}

void RunChecker::See(const PushCounted& counted) {
  if (open_.erase(counted.worker) == 0) {
    Break("a push without a grant is counted");
  }
  counted_ += counted.samples;
}

void RunChecker::See(const Recorded& recorded) {
  const DecisionKind kind = recorded.decision.kind;
  if (kind == DecisionKind::kRangeReturned ||
      kind == DecisionKind::kAbandoned) {
    open_.erase(recorded.decision.worker);
  }
}

void RunChecker::See(const EvaluateSnapshot& evaluate) {
  if (!there_.contains(evaluate.worker)) Break("an evaluator who is gone");
  if (!kept_.contains(evaluate.snapshot)) Break("a snapshot that nobody has");
  if (!evaluating_.emplace(evaluate.worker, evaluate.snapshot).second) {
    Break("two evaluations at once");
  }
}

void RunChecker::See(const MemberLetGo& gone) {
  if (there_.erase(gone.worker) == 0) Break("let go twice");
  evaluating_.erase(gone.worker);
}

void RunChecker::See(const NumberedCommand& command) {
  if (command.sequence != ++sequence_) Break("a gap in the commands' numbers");
  if (const auto* keep = std::get_if<SnapshotCommand>(&command.command)) {
    kept_.insert(keep->snapshot);
  }
  if (const auto* release = std::get_if<ReleaseSnapshot>(&command.command)) {
    if (kept_.erase(release->snapshot) == 0) Break("released twice");
    for (auto it = evaluating_.begin(); it != evaluating_.end();) {
      it = it->second == release->snapshot ? evaluating_.erase(it)
                                           : std::next(it);
    }
  }
}

void RunChecker::See(const CheckpointChanged& changed) {
  using State = CheckpointChanged::State;
  if (changed.state == State::kWriting) {
    if (writing_.has_value()) Break("two checkpoints at once");
    writing_ = changed.order.id;
    saves_ = saves_ || training_ended_;
    return;
  }
  // One that was ordered may fail before.
  if (changed.state == State::kFailed && changed.order.point.snapshot == 0) {
    return;
  }
  if (writing_ != changed.order.id) Break("a checkpoint that was not begun");
  writing_.reset();
  if (changed.state == State::kReady) ready_ = changed.order;
}

void RunChecker::See(const RunEnded& ended) {
  ended_ = true;
  outcome_ = ended.outcome;
  if (writing_.has_value()) Break("a checkpoint is still being written");
  if (!trained_ || !keeps_checkpoints_ || outcome_.out_of_servers) return;
  const bool lost = may_give_up_ || outcome_.weights_lost;
  if (!outcome_.status.ok() && (lost || !saves_)) return;
  if (!ready_.has_value() || ready_->id != outcome_.checkpoint) {
    return Break("it ended well, and is not saved");
  }
  if (!ready_->point.exact || ready_->point.samples != counted_) {
    Break("what was saved is not what was counted");
  }
}

}  // namespace paceline
