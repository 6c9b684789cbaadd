#ifndef PACELINE_SERVICES_COORDINATOR_POLICY_SYNC_POLICY_H_
#define PACELINE_SERVICES_COORDINATOR_POLICY_SYNC_POLICY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "services/coordinator/policy/action.h"
#include "services/coordinator/policy/event.h"
#include "services/coordinator/policy/types.h"

namespace paceline {

// A worker's state when a policy takes over.
struct AdoptedWorker {
  enum class Phase : uint8_t { kWaiting, kComputing, kIdle };
  WorkerId worker;
  Phase phase = Phase::kWaiting;
  bool straggler = false;  // Is flagged as one.
};

// What a policy shows of itself to those who watch it.
struct PolicyView {
  // By how many iterations a worker may be ahead of the slowest now and still
  // go on, the most for any; nothing if the policy knows no such bound.
  std::optional<int64_t> threshold = std::nullopt;
  std::optional<int64_t> groups = std::nullopt;
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

  // Takes over: the first call, made once. `workers` are all members, sorted by
  // id; their clocks count as equal. The pushes of those who compute come in
  // under the plans that they were given and count as the first under this
  // policy; it is not asked to plan them and does not close their rounds. Round
  // ids from `next_round` on are free. A job starts with all of its workers
  // waiting, so that the first round has them all.
  virtual void Adopt(const Moment& at, absl::Span<const AdoptedWorker> workers,
                     RoundId next_round, std::vector<Action>& actions) = 0;

  // Applies `event`, which happened at `at`, and appends its consequences to
  // `actions` in the order in which they must be performed.
  // REQUIRES: `at` is not before that of the previous call; the event
  // names a member (or, for Joined, a new one) in a fitting state: validation
  // happens in SyncCore.
  virtual void Apply(const Moment& at, const Event& event,
                     std::vector<Action>& actions) = 0;

  // When the driver must apply a Tick if nothing else happens first;
  // InfiniteFuture when the policy waits for no deadline.
  virtual absl::Time NextDeadline() const = 0;

  // The canonical spec with every parameter, "ssp:s=3": what PolicySpec parses.
  virtual std::string Describe() const = 0;

  virtual PolicyView View() const { return {}; }
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_POLICY_SYNC_POLICY_H_
