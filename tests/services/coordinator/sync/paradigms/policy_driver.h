#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_PARADIGMS_POLICY_DRIVER_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_PARADIGMS_POLICY_DRIVER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/rng.h"
#include "services/coordinator/sync/core/sync_policy.h"

namespace paceline {

class PolicyDriver;

// Looks on while a policy is driven, and says what is wrong by
// PolicyDriver::Require().
class PolicyObserver {
 public:
  virtual ~PolicyObserver() = default;
  virtual void Happened(PolicyDriver& /*driver*/, const Event& /*event*/) {}
  virtual void Performing(PolicyDriver& /*driver*/, const Action& /*action*/) {}
};

// A policy's workers in virtual time, drawn from a seed, with everything that
// the core does between them and the policy: the view, plans that are asked
// for, refreshes, abandons that come too late, ranges of samples that run out
// and come back, members that join and are lost, handings over, ticks. Whatever
// is true of every policy is checked all the time; what only some promise is
// an option, or an observer's affair.
class PolicyDriver {
 public:
  struct Options {
    uint64_t seed = 0;
    // Times are counted in this; they add up in double precision. With whole
    // numbers of nanoseconds that is exact. With fractions, which instants are
    // one is left to rounding.
    absl::Duration unit = absl::Nanoseconds(1);
    // How long an iteration of each worker takes; none: drawn from the seed.
    std::vector<double> times = {};
    // The time of one iteration, if it is not always the same.
    std::function<double(WorkerId worker, double usual)> time_of = nullptr;
    // Ticks come so much late at most.
    double tick_delay = 0;
    // Joins, losses, idle times, stalls, takeovers and losses that are not
    // finite.
    bool faults = false;
    // Workers are lost and nothing else goes wrong, unless `faults` is set.
    bool losses = false;
    double fault_every = 300'000'000;  // On average.
    // Plans are pushed and abandons answered at once.
    bool instant_answers = false;
    // No gap may be larger at a push.
    std::optional<int64_t> max_gap = std::nullopt;
    // Who joins or resumes counts from its release on; otherwise at once.
    bool counts_from_release = false;
    PolicyObserver* observer = nullptr;
  };
  struct Worker {
    double takes = 1;
    int64_t iteration = 0;  // Incidents of other iterations are void.
    PushPlan plan;
    int64_t term = 0;
    bool asks = false;     // It waits for a plan.
    bool partial = false;  // It was refreshed.
    bool broken = false;   // Its loss is not finite: it pushes nothing.
    bool resumed = false;
    Version base = 0;
    int64_t releases = 0;
    int64_t pushes = 0;
    uint32_t samples = 0;  // Of its iteration.
    std::optional<double> waits_since;
    absl::Duration waited;  // From pushes to releases.
  };
  struct Round {
    int64_t plans = 0;
    int64_t pushes = 0;
  };

  PolicyDriver(SyncPolicy& policy, Options options);

  // Until everything due at `end` has happened.
  void RunUntil(double end);
  // Until so many closings were made.
  void RunClosings(int64_t closings);
  // First everything goes wrong that may; then nothing more does, and everybody
  // must be released again and again; at last the samples run out, and nothing
  // may be left over.  REQUIRES: `faults`.
  void RunThroughFaults();

  // Adds to the violations unless it holds.
  void Require(bool holds, absl::string_view what);

  // What went wrong, in order; and every event and action, a line each.
  const std::vector<std::string>& violations() const { return violations_; }
  const std::string& trace() const { return trace_; }

  const SyncView& view() const { return view_; }
  const std::map<WorkerId, Worker>& workers() const { return workers_; }
  const std::map<RoundId, Round>& rounds() const { return rounds_; }
  double now() const { return now_; }
  Version version() const { return version_; }  // Closings so far included.
  int64_t closings() const { return closings_; }
  // Updates of the core's own: of what lost workers and earlier terms left.
  int64_t core_closings() const { return core_closings_; }
  int64_t max_gap() const { return max_gap_; }  // At any push.
  std::vector<int64_t> Pushes() const;
  std::vector<absl::Duration> Waited() const;

 private:
  enum class Incident : uint8_t { kReady, kPush, kDrop, kFault };
  // When it comes; in which order at one time; and for which iteration.
  using Due = std::tuple<double, WorkerId, uint64_t, Incident, int64_t>;

  // Kept in the plainest way, without an index, so that a mistake in the clocks
  // of the view shows.
  struct PlainClock {
    WorkerClock clock = 0;
    bool counts = false;
  };

  void Start();
  Pace PaceOf(const Worker& worker) const;
  // False if nothing is pending, or only after `end`.
  bool Step(double end);
  bool TickIfDue(double end);
  void Ready(WorkerId id, Worker& worker);
  void Push(WorkerId id, Worker& worker);
  void Drop(WorkerId id, Worker& worker);
  void Fault();
  void Join();
  void Lose(WorkerId id);

  void Settle();
  bool ResumeIdle();
  void PerformAll();
  void Perform(const Release& release);
  void Perform(const PlanPush& planned);
  void Perform(const Extend& extend);
  void Perform(const Refresh& refresh);
  void Perform(const Abandon& abandon);
  void Perform(const CloseRounds& close);
  void Perform(const HandOver& over);
  void Perform(const Report& report);

  void Issue(const PushPlan& plan);
  void Schedule(double delay, Incident incident, WorkerId id);
  void Compute(WorkerId id, Worker& worker);
  double DrawTime();
  void Count(PlainClock& clock);
  std::optional<WorkerClock> MinClock() const;
  void Advance(WorkerId id);
  void TellClocks(const Event& event);
  void CheckSettled();
  void Note(absl::string_view line);
  absl::Time ToTime(double at) const;
  void SetProgress();
  WorkerId AnyMember();

  SyncPolicy& policy_;
  const Options options_;
  Rng rng_;
  SyncView view_;
  std::map<WorkerId, Worker> workers_;
  std::map<WorkerId, PlainClock> clocks_;
  std::map<RoundId, Round> rounds_;
  std::set<RoundId> closed_;
  std::set<Due> queue_;
  std::deque<Event> events_;
  std::optional<Event> event_;  // The one that the policy is told of.
  std::vector<Action> actions_;
  std::vector<std::string> violations_;
  std::string trace_;

  bool faulty_ = false;
  double now_ = 0;
  uint64_t scheduled_ = 0;
  uint32_t next_worker_ = 0;
  int64_t term_ = 0;
  int64_t pool_ = 0;  // Ranges to deal.
  Version version_ = 0;
  int64_t counted_ = 0;
  WorkerClock last_min_ = 0;
  int64_t closings_ = 0;
  int64_t core_closings_ = 0;
  int64_t max_gap_ = 0;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_PARADIGMS_POLICY_DRIVER_H_
