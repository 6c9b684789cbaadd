#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_CORE_DECISION_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_CORE_DECISION_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "services/coordinator/sync/core/types.h"

namespace paceline {

// Why something was decided: an enum and numbers, cheap to record for every
// push and rendered to words only when somebody reads it.
enum class DecisionKind : uint8_t {
  // Policies decide these. Each comment says what `a`, `b` and `c` are.
  kWaitForRound,  // a = next round, b = members still awaited before it.
  // Begins with the next round: a = that round, b = samples, c = as above.
  kFillsWait,
  // Told to drop its part: a = samples of that, b = its round, c = members that
  // compute as many.
  kRedone,
  kRoundClosed,     // a = round, b = pushes it gathered.
  kWithinBound,     // Released: a = gap, b = bound.
  kWaitForSlowest,  // Held: a = gap, b = bound that releases it.
  kCaughtUp,        // Released from waiting: a = gap, b = bound.
  // DSSP: a = gap, b = r granted, c = predicted distance between the two pushes
  // that the controller chose, ns.
  kAllowanceGranted,
  kAllowanceUsed,     // DSSP: a = gap, b = r left.
  kAllowanceRefused,  // DSSP: held: a = gap, b = r* of the controller (0).
  kColdStart,         // DSSP: held: a = gap; an interval is still unknown.
  kNotFastest,        // DSSP: held: a = gap, b = largest clock - own clock.
  kSlowestPushed,     // DSSP: released at that push: a = gap.
  kCapped,  // DSSP bounded: held at the upper bound: a = gap, b = s_U.

  // SaPS. a = updates behind, b = s.
  kLags,
  kLagsNoMore,
  kRefreshed,
  // Weighing. a = staleness; b = weight in millionths.
  kWeighed,
  kTooStale,  // Discarded: a = staleness, b = the cap.

  // Rounds of the first K (KSync, KAsync).
  kGradientTaken,   // a = its number, b = how many its round takes, c =
                    // staleness.
  kSuperseded,      // Told to drop its iteration: a = round, b = its gradients.
  kTooLate,         // Discarded: its round was full.
  kWaitForClosing,  // a = round, b = pushes still awaited before its closing.
  // PSP: a = sampled workers that are more than s behind, b = s, c = sampled.
  kSampleWithin,
  kSampleBehind,
  kSampleCaughtUp,
  // ElasticBSP.
  kQuota,  // a = iterations, b = predicted waiting of all at the barrier, ns.
  kColdQuota,     // One iteration: somebody's busy time is unknown.
  kQuotaUsed,     // Waits: a = members awaited at the barrier.
  kAskedForPart,  // ABS-SGD: refreshed: a = round.
  kHandedOver,    // Sync-Switch: a = HandOverReason.
  // CGP.
  kWaitForGroup,  // a = members still awaited.
  kWaitForMerge,  // a = other groups predicted, b = for so long at most, ns.
  kWaitForStaleGroup,  // a = updates that it is behind, b = the bound.
  kGroupsApplied,  // One update: a = groups, b = pushes, c = late ones adopted.
  kFloats,         // Its group goes on without it: a = after so long, ns.
  kLatePush,       // It waits for an update to adopt it.
  kRegrouped,      // a = groups, b = speed, thousandths of ASP's, c = batches
                   // missed a pull, thousandths.
  kMovedToGroup,   // a = group.

  // The core decides these.
  // a = score in thousandths: time per sample over the median of all workers.
  kStraggler,
  kNoStraggler,
  kLost,           // a = LossReason, b = iteration open at the loss or 0.
  kLostPushTaken,  // The lost worker's last push counts: a = iteration.
  kRangeReturned,  // a = epoch, b = begin, c = end.
  kPartialPush,    // a = iteration, b = blocks taken, c = blocks in all.
  kBlocksRefused,  // Non-finite: a = iteration, b = refused, c = in all.
  // Non-finite loss, nothing pushed: a = iteration, b = samples left out of the
  // training for it.
  kPushDiscarded,
  kAbandoned,       // The iteration was dropped: a = iteration.
  kLotWithdrawn,    // What was reserved for it is not any more: a = samples.
  kDealingStopped,  // a = samples counted.
  kDealingResumed,  // a = samples counted. The table of words ends with it.
};

// "wait_for_round", ...: a label of metrics.
absl::string_view NameOf(DecisionKind kind);

// All kinds.
absl::Span<const DecisionKind> DecisionKinds();

// Why a member is gone.
enum class LossReason : uint8_t {
  kStreamBroken,
  kLeaseEnded,
  kStuck,
  kDeparted,   // It said so itself.
  kFailed,     // It cannot take part any more, it said.
  kNotFinite,  // Its pushes were not, those of others are.
};

// Why Sync-Switch hands over to its other paradigm.
enum class HandOverReason : uint8_t {
  kShareReached,
  kStraggler,
  kNoStraggler,
  kStragglersDropped,
  kNobodyDropped,
};

struct Decision {
  DecisionKind kind;
  WorkerId worker{0};
  int64_t a = 0;
  int64_t b = 0;
  int64_t c = 0;

  friend bool operator==(const Decision&, const Decision&) = default;
};

// One sentence without a full stop, "gap 5 exceeds the bound 3: waits for the
// slowest worker"; the worker itself is not named.
std::string Render(const Decision& decision);

// "stream broken", "lease ended", "stuck", "departed", "failed",
// "not finite".
std::string Render(LossReason reason);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_CORE_DECISION_H_
