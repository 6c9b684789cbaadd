#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_CORE_SYNC_POLICY_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_CORE_SYNC_POLICY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/time/time.h"
#include "services/coordinator/sync/core/decision.h"
#include "services/coordinator/sync/core/sync_view.h"
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
  // So many samples are to be computed, if there are as many; 0: a batch, or
  // what the job's batching makes of it.
  uint32_t samples = 0;
  // It is to fill a wait: too little to say how fast the worker is.
  bool fills_wait = false;
};

// Says what becomes of the gradient of a worker that asked. The plan is not
// Ask().
struct PlanPush {
  WorkerId worker;
  PushPlan plan;
};

// The worker that asked computes so many samples more, from the same weights
// and into the same gradient, and asks again. If there are none, or if it
// cannot do that, `otherwise` becomes of its gradient.
struct Extend {
  WorkerId worker;
  uint32_t samples = 0;
  PushPlan otherwise;  // Not Ask().
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

using Action = std::variant<Release, PlanPush, Extend, Refresh, Abandon,
                            CloseRounds, HandOver, Report>;

// A policy shows this of itself to those who watch it.
struct PolicyView {
  // The largest number of iterations by which a worker may be ahead of the
  // slowest now and still go on; nothing if the policy knows no such bound.
  std::optional<int64_t> threshold = std::nullopt;
  std::optional<int64_t> groups = std::nullopt;
  // The policy has one round at a time, whose closing takes nearly all that is
  // under way: whoever takes over then finds little of it left.
  bool gathers_all = false;
};

// Decides, push by push, which workers may start their next iteration and what
// becomes of their gradients.
//
// A pure state machine: equal calls give equal actions, whether the coordinator
// or a simulator makes them. A policy reads no clock, draws no random number,
// takes no lock, writes no log and does no I/O.
//
// Thread-compatible: the driver serializes the calls.
class SyncPolicy {
 public:
  virtual ~SyncPolicy() = default;

  // Takes over. The call comes first, and again after each HandOver of its own.
  // The clocks of all members count as equal. The pushes of those who compute
  // come in under the plans that they were given and count as the first under
  // this policy; it is not asked to plan them and does not close their rounds.
  // Round ids from `view.rounds().next()` on are free. A job starts with all of
  // its workers waiting, so that the first round has them all. `view` is the
  // same object in all calls and outlives the policy.
  virtual void Adopt(const SyncView& view, std::vector<Action>& actions) = 0;

  // Applies `event`, of which `view` knows already, and appends its
  // consequences to `actions` in the order in which they must be performed.
  // REQUIRES: `view.now()` is not before that of the previous call; the event
  // names a member in a fitting state: validation happens in SyncCore.
  virtual void Apply(const SyncView& view, const Event& event,
                     std::vector<Action>& actions) = 0;

  // When the driver must apply a Tick if nothing else happens first;
  // InfiniteFuture when the policy waits for no deadline.
  virtual absl::Time NextDeadline() const { return absl::InfiniteFuture(); }

  // The round that this policy closes next, and alone, as soon as every plan of
  // it that is open now is pushed, if no member is lost and it hands over to
  // nobody; nothing: it may be otherwise.
  virtual std::optional<RoundId> ClosesNext() const { return std::nullopt; }

  // The canonical spec with every parameter, "ssp:s=3": what PolicySpec parses.
  virtual std::string Describe() const = 0;

  virtual PolicyView View() const { return {}; }
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_CORE_SYNC_POLICY_H_
