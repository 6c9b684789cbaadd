#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_POLICY_CGP_CLUSTER_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_POLICY_CGP_CLUSTER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/rng.h"
#include "services/coordinator/policy/cgp.h"

namespace paceline {

// CGP's workers in virtual time, drawn from a seed, with ticks when the policy
// wants them, and what algorithms.md 3.5 says must always hold.
class CgpCluster {
 public:
  struct Options {
    uint64_t seed = 0;
    std::vector<absl::Duration> iteration_times = {};  // One for each worker.
    bool jitter = false;  // Up to a tenth longer, by nanoseconds.
    bool faults = false;  // Joins, leaves, idle times and stalls.
    absl::Duration tick_delay =
        absl::ZeroDuration();  // Ticks come so much late at most.
    absl::Duration horizon = absl::ZeroDuration();  // Of virtual time.
  };

  CgpCluster(const CgpOptions& cgp, Options options);
  void Run();

  // An update, as a closing makes it.
  struct Update {
    absl::Duration at;
    Version version = 0;                                  // After it.
    std::vector<std::pair<uint32_t, int64_t>> staleness;  // Of its pushes.
    int64_t rounds = 0;  // With pushes in time.
  };
  const std::vector<Update>& updates() const { return updates_; }
  const std::vector<std::string>& violations() const { return violations_; }
  const std::string& trace() const { return trace_; }
  int64_t pushes() const { return pushes_; }
  int64_t immediate() const { return immediate_; }
  int64_t late() const { return late_; }
  // Overrides the times of the worker's next iterations.
  void Script(uint32_t worker, std::vector<absl::Duration> times);

 private:
  struct Worker {
    AdoptedWorker::Phase phase = AdoptedWorker::Phase::kWaiting;
    absl::Duration takes;
    std::vector<absl::Duration> scripted;  // The next one last.
    absl::Time released;
    absl::Time pushed;
    PushPlan plan;
    Version base = 0;
    bool floats = false;
    bool resumed = false;  // Or has joined: has not pushed before it waits.
    std::optional<double> busy_s;
  };
  struct Round {
    Version base = 0;
    absl::Time released;
    int64_t plans = 0;
    std::vector<WorkerId> gathered;
    std::vector<WorkerId> late;  // Gathered, too.
  };

  void Fault();
  void Deliver(const Event& event);
  void Push(WorkerId id);
  void Perform(const Action& action);
  void Start(const Release& release);
  void Close(const CloseRounds& close);
  void CheckWait(const Worker& worker);
  void Check();
  void Require(bool holds, absl::string_view what);
  absl::Duration Elapsed() const { return now_ - absl::UnixEpoch(); }

  const CgpOptions cgp_;
  const Options options_;
  Rng rng_;
  Cgp policy_;
  absl::Time now_ = absl::UnixEpoch();
  Version version_ = 0;
  std::map<WorkerId, Worker> workers_;
  std::map<RoundId, Round> rounds_;
  std::set<std::pair<absl::Time, WorkerId>> due_;
  std::vector<Event> events_;
  std::vector<Update> updates_;
  std::vector<std::string> violations_;
  std::string trace_;
  absl::Time next_fault_ = absl::InfiniteFuture();
  uint32_t next_worker_ = 0;
  int64_t pushes_ = 0;
  int64_t immediate_ = 0;
  int64_t late_ = 0;
  double longest_busy_s_ = 0;  // Of any worker's mean.
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_POLICY_CGP_CLUSTER_H_
