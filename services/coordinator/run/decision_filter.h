#ifndef PACELINE_SERVICES_COORDINATOR_RUN_DECISION_FILTER_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_DECISION_FILTER_H_

#include <cstdint>
#include <map>
#include <optional>
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
  struct Kept {
    const char* category;  // "worker-lost", ...: Decision.kind of jobs.proto.
    int64_t omitted = 0;   // Of that category since the last one kept.
  };

  // Nothing if it is not to be told.
  std::optional<Kept> Offer(DecisionKind kind, absl::Time now);
  // So many of a category, be it none of the above, were not told although
  // they were to be.
  void LeaveOut(const std::string& category, int64_t count);

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
