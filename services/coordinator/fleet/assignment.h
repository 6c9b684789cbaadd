#ifndef PACELINE_SERVICES_COORDINATOR_FLEET_ASSIGNMENT_H_
#define PACELINE_SERVICES_COORDINATOR_FLEET_ASSIGNMENT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace paceline {

// Who works for which job: pure decisions, from the cluster as it is to the
// moves that bring it closer to what it should be. Deterministic: the order of
// the arguments does not matter, ties go by job number and worker id.

// A job's number in the order of creation.
using JobNumber = uint64_t;

// A member that is connected.
struct AssignableWorker {
  uint64_t id = 0;
  std::string name = {};  // For people.
  std::string pool;
  std::string gpu_model;
  // The programs that it has; none: it computes the built-in models.
  std::vector<std::string> programs = {};
  bool evaluator = false;
  // Of its process, whose members compute in turn on one device.
  uint32_t in_flight = 0;
  bool draining = false;  // Gets no job, and leaves the one it has.
  std::optional<JobNumber> job;
  // Was told to leave `job`, or one that is no more, and has not yet.
  bool leaving = false;
  // Of an evaluator with a job: when it got it.
  absl::Time since = absl::InfinitePast();
  // Jobs that it could not take part in, and why not: it is not given to them
  // again.
  std::map<JobNumber, std::string> unfit_for = {};
};

// Whether a job that runs has use for trainers.
enum class TrainersWanted : uint8_t {
  kYes,
  kNoMore,  // It keeps those it has: it is about to stop.
  kNone,    // It gives back those it has: all is counted.
};

// A job that wants workers: it waits for them (running = false) or has been
// started. Workers of a job that is not listed are released.
struct AssignableJob {
  JobNumber number = 0;
  std::string name_space;
  std::vector<std::string> pools;       // One of these; none: any.
  std::vector<std::string> gpu_models;  // The same.
  std::string program = {};             // Empty: its model is a built-in one.
  int min = 1;
  int max = 0;       // 0: no limit; else at least `min`.
  int priority = 0;  // The higher comes first.
  bool running = false;
  TrainersWanted trainers = TrainersWanted::kYes;
  // It is interrupted, not ended: it will wait for workers again, at once.
  bool goes_on = false;
  // There are snapshots to evaluate.
  bool evaluation_pending = false;
  // When an evaluator left it last.
  absl::Time evaluated_until = absl::InfinitePast();
};

struct AssignmentLimits {
  int workers_per_namespace = 0;  // 0: no limit. Evaluators do not count.
  // How long an evaluator stays with a job while another one waits.
  absl::Duration evaluator_hold = absl::Seconds(2);
};

struct AssignmentPlan {
  struct Assign {
    uint64_t worker = 0;
    JobNumber job = 0;
  };
  struct Release {
    uint64_t worker = 0;
    JobNumber job = 0;
    std::string reason;  // For people: "drained".
  };

  // Each worker is in at most one move. Those who are released can be assigned
  // once they have left.
  std::vector<Release> release;
  std::vector<Assign> assign;
  // Waiting jobs whose minimum is covered, `assign` included.
  std::vector<JobNumber> start;
  // What each other waiting job waits for, for people.
  std::map<JobNumber, std::string> waiting;

  bool empty() const {
    return release.empty() && assign.empty() && start.empty();
  }
};

// Trainers, in this order:
//   1. Draining workers are released, what a job has above its maximum, and
//      all of a job that wants none.
//   2. A running job that has lost workers is filled up to its minimum, as far
//      as workers are free; jobs of a higher priority first.
//   3. Waiting jobs, those of a higher priority first and the oldest of equals,
//      start if free workers cover their minimum. Else, if those and what jobs
//      of no higher priority can spare (workers that are leaving, and all above
//      the minimum of a running job) would cover it, the free ones are held
//      back for it and the others released. A job that cannot be covered so
//      blocks nobody.
//   4. What is free then goes to running jobs below their maximum, one by one
//      to that of the highest priority, of equals to that with the fewest above
//      its minimum.
//   5. If there was nothing to do and nobody is leaving, one worker that a
//      running job can spare is released for one of a higher priority; else one
//      of the job with the most above its minimum, for one of the same priority
//      that has at least two fewer and could have it. So the numbers come to
//      rest: every such move gives to a higher priority, or makes the sum of
//      the squares smaller.
// No move takes a running job below its minimum (but draining does), whatever
// the priorities, any job above its maximum, or a namespace above its quota, in
// which those who are leaving still count.
//
// Evaluators, whatever their pool: one for each running job with snapshots to
// evaluate, to that first which has been without for the longest time. With
// fewer evaluators than such jobs they rotate: released is one whose job has
// nothing to evaluate, else one that has been there for `evaluator_hold`.
AssignmentPlan PlanAssignments(absl::Time now,
                               absl::Span<const AssignableWorker> workers,
                               absl::Span<const AssignableJob> jobs,
                               const AssignmentLimits& limits);

// Whether who has these programs has the model of a job: that of `program` or,
// where that is empty, a built-in one.
template <class Programs>
bool HasModel(const Programs& programs, absl::string_view program) {
  return program.empty() ? programs.empty()
                         : absl::c_linear_search(programs, program);
}

// Whether it can compute the job's model, be it as an evaluator: it has that,
// and is not unfit.
bool CanCompute(const AssignableJob& job, const AssignableWorker& worker);

// Whether the job may have this worker: it can compute the job's model, and the
// job's selector, which is not about evaluators, allows it.
bool Selects(const AssignableJob& job, const AssignableWorker& worker);

// The part about evaluators, added to `plan`.
void PlanEvaluators(absl::Time now, absl::Span<const AssignableWorker> workers,
                    absl::Span<const AssignableJob> jobs, absl::Duration hold,
                    AssignmentPlan& plan);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_FLEET_ASSIGNMENT_H_
