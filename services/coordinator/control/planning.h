#ifndef PACELINE_SERVICES_COORDINATOR_CONTROL_PLANNING_H_
#define PACELINE_SERVICES_COORDINATOR_CONTROL_PLANNING_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "services/coordinator/control/job_book.h"
#include "services/coordinator/fleet/fleet.h"
#include "services/coordinator/planner/auto_pilot.h"

namespace paceline {

// Says of every job that trains which paradigm would suit its workers, and
// switches those that are to be steered (JobSpec.auto), on a thread of its own.
// It takes a twentieth of a core at most, however many jobs there are: they
// wait for each other.
class Planning {
 public:
  // All outlive it.
  Planning(JobBook* book, Fleet* fleet, const Clock* clock);
  ~Planning();
  Planning(const Planning&) = delete;
  Planning& operator=(const Planning&) = delete;

 private:
  // A run and who steers it; of the thread.
  struct Steered {
    AutoPilot pilot;
    absl::Time due = absl::InfinitePast();
    std::string advised;  // The last time.
    bool acted = false;
  };
  struct Due {
    std::string job;
    std::shared_ptr<JobRun> run;
    bool acts = false;
  };

  void Run();
  // The runs that train and whose time has come; forgets those that are over.
  std::vector<Due> FindDue();
  void LookAt(const Due& due);
  // ABORTED if the job is not to be steered any more; the errors of
  // Fleet::CheckRoom().
  absl::Status Switch(const Due& due, const AutoPilot::Look& look);

  JobBook* const book_;
  Fleet* const fleet_;
  const Clock* const clock_;
  std::map<uint64_t, Steered> runs_;  // By their numbers; of the thread.

  absl::Mutex mu_;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;  // Last: it uses everything above.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_CONTROL_PLANNING_H_
