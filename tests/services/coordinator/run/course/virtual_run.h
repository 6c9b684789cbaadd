#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_RUN_COURSE_VIRTUAL_RUN_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_RUN_COURSE_VIRTUAL_RUN_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/rng.h"
#include "services/coordinator/run/course/course.h"
#include "tests/services/coordinator/run/course/run_checker.h"

namespace paceline {

// What may go wrong in a virtual run, as chances in a thousand: of each member,
// server, command or second that it is about.
struct Faults {
  int member_dies = 0;       // Before each thing that a member does.
  int member_freezes = 0;    // Instead, it is silent, and connected.
  int member_leaves = 0;     // Politely.
  int member_cannot = 0;     // It says that it failed, or has another model.
  int server_lost = 0;       // Each second, one of them.
  int server_hangs = 0;      // Each command: nothing is answered any more.
  int snapshot_refused = 0;  // Each snapshot and each evaluation.
  int checkpoint_fails = 0;  // Each file, each manifest.
  int order = 0;             // Each second: a pause, a switch, an update, ...
  int cancel = 0;            // Each second.
  // Nothing goes wrong from then on, and everybody who is needed comes.
  absl::Duration until = absl::Minutes(5);
};

// A run's course among members, servers and people of its own in virtual time,
// all of it drawn from a seed. The checker observes every output.
class VirtualRun {
 public:
  // Texts of the paradigms, among which switches are made.
  static const std::vector<std::string>& Paradigms();

  VirtualRun(uint64_t seed, const std::string& paradigm, const Faults& faults);

  // Until the run has ended and everybody has heard of it, or something is
  // broken. Returns what that is; empty if nothing is.
  std::string Run();

  const RunOutcome& outcome() const { return checker_.outcome(); }

 private:
  struct Member {
    bool evaluator = false;
    bool alive = true;    // It does what it is told.
    bool frozen = false;  // Neither that nor heartbeats.
    bool begun = false;
    std::optional<Grant> grant;  // Open.
    bool abandon = false;
    // How much of its last push servers have taken, if it is lost: of 2 blocks.
    int taken = 0;
  };

  bool Chance(int thousandths) { return rng_.Chance(thousandths, 1000); }
  absl::Duration Draw(int most_ms) {
    return absl::Milliseconds(1 + rng_.Below(most_ms));
  }
  bool faulty() const { return now_ < end_of_faults_; }

  void Later(absl::Duration after, std::function<void()> what);
  absl::Status Give(const RunInput& input);
  // Something that the member does after a while, unless it is lost meanwhile.
  void Does(WorkerId worker, int most_ms, std::function<void(Member&)> what);
  void Lose(WorkerId worker, LossReason reason);
  void AddMember(bool evaluator);
  void EverySecond();
  void GiveAnOrder();
  void Push(WorkerId worker, Member& member, const PushPlan& plan);
  void Answer(int server, const NumberedCommand& command);

  void On(const AssignMember& assign);
  void On(const BeginWork& begin);
  void On(const Grant& grant);
  void On(const PlanCommand& plan);
  void On(const RefreshCommand& refresh);
  void On(const AbandonCommand& abandon);
  void On(const EvaluateSnapshot& evaluate);
  void On(const MemberLetGo& gone);
  void On(const NumberedCommand& command);
  void On(const AdmitParameters&);
  void On(const AskForEvaluator&);
  void On(const CompleteCheckpoint& complete);
  template <class Other>
  void On(const Other&) {}

  Rng rng_;
  const Faults faults_;
  CourseOptions options_;
  RunSettings settings_;
  RunStart start_;
  WorkerModel model_;
  absl::Time now_ = absl::UnixEpoch();
  absl::Time end_of_faults_;
  std::optional<RunCourse> course_;
  RunChecker checker_;
  std::multimap<absl::Time, std::function<void()>> events_;
  std::map<WorkerId, Member> members_;
  std::map<uint64_t, WorkerId> by_incarnation_;
  uint32_t next_worker_ = 1;
  int next_checkpoint_ = 1;
  std::vector<bool> server_hangs_;
  std::vector<absl::Time> server_free_;  // Answers come in order.
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_RUN_COURSE_VIRTUAL_RUN_H_
