#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_SIMULATED_JOB_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_SIMULATED_JOB_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/rng.h"
#include "services/coordinator/sync/core/sync_core.h"
#include "tests/services/coordinator/sync/core/event_queue.h"
#include "tests/services/coordinator/sync/core/fake_server.h"
#include "tests/services/coordinator/sync/core/history_checker.h"
#include "tests/services/coordinator/sync/core/simulated_worker.h"

namespace paceline {

struct SimulatedJobOptions {
  uint64_t seed = 0;  // Everything that the policy does not say follows.
  std::string policy;
  std::optional<int64_t> max_gap = std::nullopt;
  // Others to which the job is switched now and then, with their bounds.
  std::vector<std::pair<std::string, std::optional<int64_t>>> switch_among = {};
  // Its number of samples and its batching change now and then.
  bool change_options = false;
  // Once so many thousandths of the samples are counted, and a little later, a
  // resume point is taken, and a snapshot by the servers.
  std::optional<int64_t> resume_point_at = std::nullopt;
  // Another job of so many samples and epochs went before, up to `start`.
  std::optional<SyncOptions> go_on = std::nullopt;
  bool keep_history = false;
};

// One job in virtual time, the real SyncCore with the real policy: workers of
// random speeds, messages with random delays, joins, leaves, crashes, stalls
// and seals. A second driver beside the coordinator's engine: it holds no rule.
class SimulatedJob {
 public:
  explicit SimulatedJob(const SimulatedJobOptions& options);

  // Runs to the end. Faults come in the first seconds; a job that has not ended
  // minutes later never does.
  void Run();

  // What was broken, with its time; empty if nothing was.
  std::string violation() const;
  // All outputs and refusals with their times, if it is kept.
  const std::string& history() const { return history_; }

  // How often what happened.
  struct Seen {
    std::map<LossReason, int64_t> losses;
    std::map<DecisionKind, int64_t> decisions;
    uint64_t switches = 0;
    uint64_t settled = 0;
  };
  const Seen& seen() const { return seen_; }
  // What to go on with from the resume point that was taken; and that.
  SyncOptions rest() const;
  const std::optional<ResumePoint>& resume_point() const {
    return resume_point_;
  }

 private:
  void AddWorkers();
  SimulatedWorker& MakeWorker();
  void ScheduleFaults();
  void Fault();
  void JoinNew();
  void SwitchPolicy();
  void ChangeOptions();
  void TakeResumePoint();

  // Calls of the core, each with what follows.
  void Deliver();
  void Perform(const Output& output);
  void Fence(WorkerId worker);
  void FenceAnswered(WorkerId worker, const FenceAnswer& answer);
  void ClosingPerformed(size_t server, Closing closing);
  void PushDone(WorkerId worker, const PushReport& report);
  void GradientReady(WorkerId worker, Iteration iteration);
  void Abandoned(WorkerId worker, Iteration iteration);
  // A refused call must have changed nothing.
  void Check(const absl::Status& status);
  void Leave(WorkerId worker, LossReason reason);

  void Drain();
  bool Broken() const { return !checker_->violation().empty(); }

  const SimulatedJobOptions options_;
  Rng rng_;
  EventQueue queue_;
  SyncOptions sync_;
  std::unique_ptr<SyncCore> core_;
  std::unique_ptr<HistoryChecker> checker_;
  std::vector<FakeServer> servers_;
  std::vector<std::unique_ptr<Link>> to_servers_;
  std::vector<std::unique_ptr<Link>> from_servers_;
  std::vector<std::unique_ptr<SimulatedWorker>> workers_;  // By id.
  std::set<std::pair<WorkerId, int>> answered_;
  std::vector<Output> outputs_;
  bool resume_point_due_ = false;
  std::optional<ResumePoint> resume_point_;
  Seen seen_;
  std::string history_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_SIMULATED_JOB_H_
