#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_RUN_COURSE_RUN_CHECKER_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_RUN_COURSE_RUN_CHECKER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "services/coordinator/run/course/course.h"
#include "services/simulator/cluster_observer.h"

namespace paceline {

// Follows what a RunCourse puts out and says what it breaks of what must always
// hold of a run:
//
// - commands to servers are numbered without a gap;
// - only members that were told to begin are granted, one grant at a time, and
//   nobody is told anything after it was let go;
// - what is counted was granted, and a run that says that it finished has
//   counted all of its samples (which of them, HistoryChecker knows);
// - snapshots are evaluated once at a time, by an evaluator that is there, and
//   only while servers keep them;
// - a checkpoint that was begun becomes ready or fails, one at a time, before
//   the run ends; one of a paused run is exact and holds all that was counted;
// - what it has trained is not given up once it has begun to save it, unless
//   somebody orders that or a server is lost;
// - a run that is to pause grants nothing more, unless it is resumed;
// - what a member that takes part says of its iteration is not refused, unless
//   it says it again;
// - nobody who is silent is kept;
// - the end comes once, and nothing comes after it.
class RunChecker : public ClusterObserver {
 public:
  // With `limited` the run may end well before everything is counted. A member
  // of which nothing was heard for longer than `silence_max` is to be let go.
  void Begin(uint32_t train_samples, const RunStart& start,
             bool keeps_checkpoints, bool limited, Nanos silence_max = kNever);

  void Observe(const RunOutput& output);

  void Given(Nanos at, const RunInput& input) override;
  void Decided(Nanos /*at*/, const RunOutput& output) override {
    Observe(output);
  }
  void Stepped(Nanos at, const RunCourse& course,
               const absl::Status& status) override;

  // What was broken first; empty while nothing is.
  const std::string& violation() const { return violation_; }
  bool ended() const { return ended_; }
  const RunOutcome& outcome() const { return outcome_; }

 private:
  void Break(absl::string_view what);
  void See(const AssignMember& assign);
  void See(const BeginWork& begin);
  void See(const Grant& grant);
  void See(const DropReserved& drop);
  void See(const PushCounted& counted);
  void See(const Recorded& recorded);
  void See(const EvaluateSnapshot& evaluate);
  void See(const MemberLetGo& gone);
  void See(const NumberedCommand& command);
  void See(const CheckpointChanged& changed);
  void See(const TrainingEnded&) { training_ended_ = true; }
  // A later end of the training may fail before anything is saved.
  void See(const TrainingResumed&) { training_ended_ = saves_ = false; }
  void See(const RunEnded& ended);
  template <class Other>
  void See(const Other&) {}

  bool keeps_checkpoints_ = false;
  bool limited_ = false;
  Nanos silence_max_ = kNever;
  std::string violation_;
  uint64_t sequence_ = 0;
  std::set<WorkerId> there_;
  std::set<WorkerId> begun_;
  std::map<WorkerId, Nanos> heard_;       // When, of those who are there.
  std::set<WorkerId> open_;               // Have a grant; of the lost, too.
  std::map<WorkerId, Iteration> pushed_;  // The last that it reported.
  int64_t counted_ = 0;
  bool trained_ = false;
  bool paused_ = false;
  bool pausing_ = false;             // The present input says so.
  std::optional<WorkerId> reports_;  // Who does, by the present input.
  std::set<int64_t> kept_;           // Snapshots.
  std::map<WorkerId, int64_t> evaluating_;
  std::optional<std::string> writing_;
  std::optional<CheckpointWriting::Order> ready_;
  bool training_ended_ = false;
  bool saves_ = false;        // It has begun to save what it has trained.
  bool may_give_up_ = false;  // That.
  bool ended_ = false;
  RunOutcome outcome_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_RUN_COURSE_RUN_CHECKER_H_
