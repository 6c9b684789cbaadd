#ifndef PACELINE_SERVICES_COORDINATOR_RUN_DECISION_FILTER_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_DECISION_FILTER_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/time/time.h"
#include "services/coordinator/sync/core/decision.h"

namespace paceline {

// Whether somebody's work is lost, and not because a paradigm means to discard
// it: a warning in the log.
bool CostsWork(const Decision& decision);

// Which decisions are told to people and stored: losses, discards, refreshes,
// regroupings, stragglers, hand-overs; not those that release or hold a worker,
// one for every push. Of each category at most ten in a second, so that a
// storm of them costs neither disk nor attention; the next one told says how
// many were left out. Thread-compatible.
class DecisionFilter {
 public:
  // Its category, "worker-lost" and so on: Decision.kind of jobs.proto. Null if
  // it is not to be told.
  const char* Offer(DecisionKind kind, absl::Time now);
  // One of a category, be it none of those, was not told although it was to be.
  void LeaveOut(const std::string& category);
  // How many of a category have not been told since this was last asked.
  int64_t TakeOmitted(const std::string& category);

 private:
  struct Second {
    absl::Time begun = absl::InfinitePast();
    int64_t kept = 0;
    int64_t omitted = 0;
  };

  std::map<std::string, Second> seconds_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_DECISION_FILTER_H_
