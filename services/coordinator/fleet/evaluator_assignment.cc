// The part of assignment.h that is about evaluators.

#include <algorithm>
#include <map>
#include <tuple>

#include "services/coordinator/fleet/assignment.h"

namespace paceline {
namespace {

// An evaluator that could leave its job for another one.
struct Candidate {
  bool idle;  // Its job has nothing to evaluate.
  const AssignableWorker* evaluator;
};

// The idle first, then who has been there for the longest time.
bool LeavesBefore(const Candidate& a, const Candidate& b) {
  return std::make_tuple(!a.idle, a.evaluator->since, a.evaluator->id) <
         std::make_tuple(!b.idle, b.evaluator->since, b.evaluator->id);
}

using Jobs = std::map<JobNumber, const AssignableJob*>;

// Running jobs that have something to evaluate and nobody for it, the one that
// was without for the longest time first.
std::vector<const AssignableJob*> WaitingJobs(
    absl::Span<const AssignableWorker> workers, const Jobs& jobs) {
  Jobs without = jobs;
  for (const AssignableWorker& worker : workers) {
    if (worker.evaluator && worker.job.has_value()) without.erase(*worker.job);
  }
  std::vector<const AssignableJob*> waiting;
  for (const auto& [number, job] : without) {
    if (job->running && job->evaluation_pending) waiting.push_back(job);
  }
  std::stable_sort(waiting.begin(), waiting.end(),
                   [](const AssignableJob* a, const AssignableJob* b) {
                     return a->evaluated_until < b->evaluated_until;
                   });
  return waiting;
}

// The first of them that this evaluator can serve, or the end.
auto FirstFor(const AssignableWorker& evaluator,
              std::vector<const AssignableJob*>& waiting) {
  return std::find_if(waiting.begin(), waiting.end(),
                      [&evaluator](const AssignableJob* job) {
                        return CanCompute(*job, evaluator);
                      });
}

}  // namespace

void PlanEvaluators(absl::Time now, absl::Span<const AssignableWorker> workers,
                    absl::Span<const AssignableJob> jobs, absl::Duration hold,
                    AssignmentPlan& plan) {
  Jobs by_number;
  for (const AssignableJob& job : jobs) by_number[job.number] = &job;
  std::map<uint64_t, const AssignableWorker*> free;
  std::vector<Candidate> candidates;
  std::vector<const AssignableWorker*> leaving;
  for (const AssignableWorker& worker : workers) {
    if (!worker.evaluator) continue;
    if (worker.leaving) {
      if (!worker.draining) leaving.push_back(&worker);
    } else if (!worker.job.has_value()) {
      if (!worker.draining) free[worker.id] = &worker;
    } else if (worker.draining) {
      plan.release.push_back({worker.id, *worker.job, "it is drained"});
    } else if (by_number.count(*worker.job) == 0) {
      plan.release.push_back({worker.id, *worker.job, "the job has ended"});
      leaving.push_back(&worker);
    } else {
      candidates.push_back(
          {!by_number[*worker.job]->evaluation_pending, &worker});
    }
  }
  std::sort(candidates.begin(), candidates.end(), LeavesBefore);

  // Those for whom nobody has been found yet.
  std::vector<const AssignableJob*> waiting = WaitingJobs(workers, by_number);
  for (const auto& [id, evaluator] : free) {
    const auto job = FirstFor(*evaluator, waiting);
    if (job == waiting.end()) continue;
    plan.assign.push_back({id, (*job)->number});
    waiting.erase(job);
  }
  for (const AssignableWorker* evaluator : leaving) {
    const auto job = FirstFor(*evaluator, waiting);
    if (job != waiting.end()) waiting.erase(job);
  }
  for (const Candidate& candidate : candidates) {
    const AssignableWorker& evaluator = *candidate.evaluator;
    const auto job = FirstFor(evaluator, waiting);
    if (job == waiting.end()) continue;
    const absl::Time until = evaluator.since + hold;
    // The others have been there for a shorter time.
    if (!candidate.idle && now < until) return;
    plan.release.push_back(
        {evaluator.id, *evaluator.job, "another job waits for an evaluator"});
    waiting.erase(job);
  }
}

}  // namespace paceline
