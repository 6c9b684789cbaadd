#ifndef PACELINE_SERVICES_COORDINATOR_PLANNER_SIMULATED_PILOT_H_
#define PACELINE_SERVICES_COORDINATOR_PLANNER_SIMULATED_PILOT_H_

#include <map>
#include <string>

#include "services/coordinator/planner/auto_pilot.h"
#include "services/coordinator/run/pace_history.h"
#include "services/simulator/cluster_observer.h"
#include "services/simulator/cluster_spec.h"

namespace paceline {

// An AutoPilot that steers a simulated cluster by what it sees of it: to be
// both its pilot and one of its observers. Planning takes no virtual time.
class SimulatedPilot final : public ClusterObserver, public ClusterPilot {
 public:
  // `spec` outlives the pilot.
  explicit SimulatedPilot(const ClusterSpec* spec) : spec_(*spec) {}

  void Joined(Nanos at, WorkerId worker, size_t index) override;
  void Decided(Nanos at, const RunOutput& output) override;
  void Computed(Nanos at, const Grant& grant, uint32_t samples) override;
  void IterationOver(Nanos at, const Grant& grant,
                     const IterationTimes& times) override;
  void Gone(Nanos at, WorkerId worker) override;

  Answer Look(Nanos now, const RunCourse& course) override;

 private:
  struct Worker {
    size_t index = 0;
    uint32_t computed = 0;  // Samples of the open iteration.
  };

  const ClusterSpec& spec_;
  AutoPilot pilot_;
  PaceHistory paces_;
  std::map<WorkerId, Worker> workers_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_PLANNER_SIMULATED_PILOT_H_
