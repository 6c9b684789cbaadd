#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_FLEET_SMALL_CLUSTER_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_FLEET_SMALL_CLUSTER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "services/coordinator/fleet/assignment.h"

namespace paceline {

// Workers and jobs that do what a plan says, and check on the way that it was
// allowed: the books of every test here.
class SmallCluster {
 public:
  AssignmentLimits limits;
  absl::Time now = absl::UnixEpoch();

  // Trainers with the next ids, from 1; the first one's.
  uint64_t AddWorkers(int count, const std::string& pool = "default",
                      const std::string& gpu_model = "");
  uint64_t AddEvaluator();
  void RemoveWorker(uint64_t id) { workers_.erase(id); }
  AssignableWorker& worker(uint64_t id) { return workers_.at(id); }
  const std::map<uint64_t, AssignableWorker>& workers() const {
    return workers_;
  }

  // A job that waits, with the next number, from 1.
  JobNumber AddJob(int min, int max = 0, std::vector<std::string> pools = {});
  // Its workers are released by the next plan.
  void EndJob(JobNumber job) { jobs_.erase(job); }
  AssignableJob& job(JobNumber number) { return jobs_.at(number); }
  const std::map<JobNumber, AssignableJob>& jobs() const { return jobs_; }

  // Plans once and does it: "release 3 of 1: drained; assign 2 to 1; start 1".
  std::string Step();
  // Everybody who was told to leave has left.
  void AllLeave();
  // Steps, with everybody leaving at once, until nothing more happens; how many
  // moves that took. Fails the test after `steps_max`.
  int Settle(int steps_max = 200);

  const AssignmentPlan& plan() const { return plan_; }
  // Trainers that have the job, those leaving included or not.
  int WorkersOf(JobNumber job, bool leaving_too = true) const;
  // "1: 1 2 | 2: 3 | free: 4", trainers and evaluators.
  std::string Layout() const;

 private:
  std::string Do(const AssignmentPlan::Release& move);
  std::string Do(const AssignmentPlan::Assign& move);
  void CheckQuota() const;

  std::map<uint64_t, AssignableWorker> workers_;
  std::map<JobNumber, AssignableJob> jobs_;
  uint64_t last_worker_ = 0;
  JobNumber last_job_ = 0;
  AssignmentPlan plan_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_FLEET_SMALL_CLUSTER_H_
