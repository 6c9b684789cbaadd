#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_POLICY_ASKING_CLUSTER_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_POLICY_ASKING_CLUSTER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/rng.h"
#include "services/coordinator/policy/sync_policy.h"

namespace paceline {

// A policy's workers in virtual time, drawn from a seed, with everything that
// the core does between them and the policy: plans that are asked for,
// refreshes, abandons that come too late, ranges of samples that run out and
// come back, members that join and are lost, handings over. First everything
// goes wrong that may; then nothing more does and everybody must be released
// again and again; at last the samples run out and nothing may be left over.
class AskingCluster {
 public:
  AskingCluster(SyncPolicy& policy, uint64_t seed);

  void Run();

  // What went wrong, in order.
  const std::vector<std::string>& violations() const { return violations_; }
  const std::string& trace() const { return trace_; }
  size_t open_rounds_max() const { return open_rounds_max_; }

 private:
  using Phase = AdoptedWorker::Phase;
  enum class Incident : uint8_t { kReady, kPush, kDrop, kFault };

  struct Worker {
    Phase phase = Phase::kWaiting;
    int64_t speed = 1;      // Ticks that an iteration takes.
    int64_t iteration = 0;  // Incidents of others are void.
    PushPlan plan;
    int64_t reign = 0;
    bool asks = false;  // Until the plan comes.
    bool partial = false;
    bool broken = false;  // Its loss is not finite: pushes nothing.
    bool resumed = false;
    bool flagged = false;
    Version base = 0;
    int64_t releases = 0;
  };
  struct Round {
    int64_t plans = 0;
    int64_t gathered = 0;
  };
  struct Pending {
    Incident incident;
    WorkerId worker;
    int64_t iteration = 0;
  };

  void Start();
  void RunFaulty();
  void RunHealed();
  void RunOut();

  bool Step();  // False if nothing is pending.
  bool TickIfDue();
  void Ready(WorkerId id, Worker& worker);
  void Push(WorkerId id, Worker& worker);
  void Drop(WorkerId id, Worker& worker);
  void Fault();
  void Join();
  void Lose(WorkerId id);

  void Settle();
  bool ResumeIdle();
  void Apply(const Event& event);
  void PerformAll();
  void Perform(const Release& release);
  void Perform(const PlanPush& planned);
  void Perform(const Refresh& refresh);
  void Perform(const Abandon& abandon);
  void Perform(const CloseRounds& close);
  void Perform(const HandOver& over);
  void Perform(const Report& report);

  // A plan that names a round.
  void Issue(const PushPlan& plan);
  void Schedule(int64_t ticks, Incident incident, WorkerId id);
  void Compute(WorkerId id);
  void Check();
  void Wrong(absl::string_view what);
  Moment Now() const;
  WorkerId AnyMember();

  SyncPolicy& policy_;
  Rng rng_;
  std::map<WorkerId, Worker> workers_;
  std::map<RoundId, Round> rounds_;
  std::map<std::pair<int64_t, uint64_t>, Pending> queue_;
  std::deque<Event> events_;
  std::vector<Action> actions_;
  std::vector<std::string> violations_;
  std::string trace_;

  bool faulty_ = true;
  int64_t now_ = 0;
  uint64_t scheduled_ = 0;
  uint32_t next_worker_ = 0;
  int64_t reign_ = 0;
  RoundId next_round_{3};   // No plan has named it or one above.
  RoundId first_round_{3};  // Of the present reign.
  int64_t pool_ = 0;        // Ranges to deal.
  Moment moment_;
  size_t open_rounds_max_ = 0;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_POLICY_ASKING_CLUSTER_H_
