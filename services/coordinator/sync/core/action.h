#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_CORE_ACTION_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_CORE_ACTION_H_

#include <variant>

#include "absl/container/inlined_vector.h"
#include "services/coordinator/sync/core/decision.h"
#include "services/coordinator/sync/core/types.h"

namespace paceline {

// An action is one thing that a SyncPolicy wants done. Actions must be
// performed in the order in which the policy gives them.

// The waiting worker may start its next iteration and push it by `plan`.
struct Release {
  WorkerId worker;
  PushPlan plan;
  // A full batch is cut into at least so many micro-batches, because a Refresh
  // takes effect only between two of them; 0: as the job says.
  int pieces = 0;
};

// Says what becomes of the gradient of a worker that asked. The plan is not
// Ask().
struct PlanPush {
  WorkerId worker;
  PushPlan plan;
};

// The computing worker shall push what it has done at the next boundary of its
// micro-batches, at least one, and pull anew. What it leaves is dealt again.
struct Refresh {
  WorkerId worker;
};

// The computing worker shall drop its iteration. It answers with exactly one of
// Abandoned and, when it is too late, PushDone.
struct Abandon {
  WorkerId worker;
};

// Every server sums the named accumulators block by block and applies the sum
// as one update.
struct CloseRounds {
  absl::InlinedVector<RoundId, 1> rounds;
};

// Records why the policy has decided so.
struct Report {
  Decision decision;
};

// A policy made of several hands over from one to the next, as a switch of the
// job's policy does: plans issued so far stay as they are, the core drains
// their rounds, now and as the pushes arrive, and then calls Adopt() of the
// policy again. It is the last action of its event.
struct HandOver {};

using Action = std::variant<Release, PlanPush, Refresh, Abandon, CloseRounds,
                            HandOver, Report>;

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_CORE_ACTION_H_
