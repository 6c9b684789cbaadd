#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_POLICY_INVARIANT_CHECKER_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_POLICY_INVARIANT_CHECKER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "services/coordinator/policy/sync_policy.h"

namespace paceline {

// Watches what a policy is told and what it does, and notes what must never
// be. Keeps its own clocks, without an index, so that a mistake in those of the
// policies shows.
class InvariantChecker {
 public:
  struct Options {
    std::optional<int64_t> max_gap;  // At a push; unbounded if not set.
    // Who joins or resumes waits for a round and counts from its release on;
    // otherwise at once.
    bool counts_from_release = false;
  };
  struct Member {
    AdoptedWorker::Phase phase = AdoptedWorker::Phase::kWaiting;
    bool counts = true;
    WorkerClock clock = 0;
    std::optional<RoundId> round;  // Of its plan.
    int64_t pushes = 0;
  };

  explicit InvariantChecker(const Options& options) : options_(options) {}

  void Adopted(absl::Span<const AdoptedWorker> workers);
  void Happened(const Event& event);
  void Performed(const Action& action);
  // After an event and everything that came of it.
  void Settled();

  const std::map<WorkerId, Member>& members() const { return members_; }
  const std::vector<std::string>& violations() const { return violations_; }

 private:
  void Require(bool holds, absl::string_view what, WorkerId worker);
  void Push(WorkerId worker);
  void Count(Member& member);
  std::optional<WorkerClock> Min() const;
  bool AnyIn(AdoptedWorker::Phase phase) const;

  Options options_;
  std::map<WorkerId, Member> members_;
  WorkerClock last_min_ = 0;
  std::map<RoundId, int64_t> open_pushes_;  // Gathered and not yet closed.
  RoundId last_closed_{0};
  std::vector<std::string> violations_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_POLICY_INVARIANT_CHECKER_H_
