#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_CORE_SYNC_MESSAGES_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_CORE_SYNC_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/time/time.h"
#include "services/coordinator/sync/core/decision.h"
#include "services/coordinator/sync/core/types.h"

namespace paceline {

// Outputs of the core, in the order in which they must be performed.

// Permission for one iteration.
struct Grant {
  WorkerId worker;
  Iteration iteration = 0;
  SampleRange range;
  Closing closing = 0;       // The pull must wait for this closing.
  Version base_version = 0;  // Closings issued before this grant included.
  PushPlan plan;
  double rate = 0;       // The job's now; that of an immediate push.
  Version rated_at = 0;  // Counted when the rate was set.
  // Of an immediate push; nothing: the optimizer's.
  std::optional<double> momentum = std::nullopt;
  uint32_t micro_batch = 0;  // Samples between two boundaries; 0: the job's.
  // Newly reserved for the worker, behind all that is: what its next grants
  // will name, in that order, unless a DropReserved comes before. So the range
  // of a grant is the front of what was reserved, or a part of it from its
  // front; it is a new one only where nothing is reserved.
  std::vector<SampleRange> reserved = {};
  // For who keeps it: the ranges of its ExtendCommands so far. The core leaves
  // it empty.
  std::vector<SampleRange> extensions = {};

  // All of its ranges.
  SampleRanges ranges() const {
    SampleRanges all = {range};
    all.insert(all.end(), extensions.begin(), extensions.end());
    return all;
  }
};

// Everything that is reserved for the worker and was not granted is withdrawn.
// This comes before its next grant.
struct DropReserved {
  WorkerId worker;
};

// Tells the worker that asked what becomes of its gradient.
struct PlanCommand {
  WorkerId worker;
  Iteration iteration = 0;
  PushPlan plan;
  double rate = 0;                                // As in Grant.
  Version rated_at = 0;                           // As in Grant.
  std::optional<double> momentum = std::nullopt;  // As in Grant.
};

// Tells the worker that asked to compute these samples too, into the same
// gradient, and to ask again. The range is taken as a grant's is.
struct ExtendCommand {
  WorkerId worker;
  Iteration iteration = 0;
  SampleRange range;
};

// Tells the worker to push what is done at the next boundary of its
// micro-batches.
struct RefreshCommand {
  WorkerId worker;
  Iteration iteration = 0;
};

// Tells the worker to drop the iteration. It answers Abandoned or, if it is too
// late, PushDone.
struct AbandonCommand {
  WorkerId worker;
  Iteration iteration = 0;
};

// Tells every server to drain the accumulators into one update at `rate`.
struct CloseCommand {
  Closing closing = 0;
  absl::InlinedVector<RoundId, 1> rounds;
  double rate = 0;
  std::optional<double> momentum = std::nullopt;  // As in Grant.
  // Whether it counts as one. Otherwise all that could lie there is of pushes
  // under way, which have closings of their own.
  bool updates = true;
};

// Tells every server what the next CloseCommand will be, if all goes well: of
// that round, which then has so many gradients. A server may drain a block for
// it as soon as it has as many of that block. It comes in one order with the
// closings and snapshots. Until that closing is issued the servers' weights are
// those of no one version, so that no snapshot is taken. A rate that is set
// meanwhile holds for what the closing itself drains.
struct AnnounceCommand {
  Closing closing = 0;
  RoundId round{0};
  int64_t gradients = 0;
  double rate = 0;
};

// Tells every server, in one order with the closings, to take nothing more from
// this worker, and to answer what of its last iteration it has taken
// (FenceAnswered).
struct FenceCommand {
  WorkerId worker;
};

// Tells every server, in one order with the closings, to keep its present
// weights.
struct SnapshotCommand {
  int64_t snapshot = 0;  // Its number, from 1.
  Version version = 0;   // Counted when it was asked for.
  int64_t samples = 0;   // Counted when it was asked for.
  Closing closing = 0;
  bool last = false;  // The end of the job: nothing is in flight.
};

// The worker is no longer a member: its stream is to be closed.
struct Evicted {
  WorkerId worker;
  LossReason reason;
};

// A push was counted; the fields are what was measured of it. This comes before
// the push's consequences. It also comes for a discarded push and for the last
// push of a lost worker, so that the samples of all PushCounted are the samples
// counted.
struct PushCounted {
  WorkerId worker;
  Version version = 0;    // The version after the push.
  int64_t gap = 0;        // The gap after it, among live workers; 0 if lost.
  int64_t staleness = 0;  // The staleness before its own update.
  uint32_t samples = 0;
  uint32_t discarded = 0;  // Of these: nothing was learned from them.
};

// Nothing can be made of the job any more: most of what is pushed is not
// finite, whoever computes it. This comes once.
struct Diverged {
  int in_a_row = 0;      // Pushes that were not, up to now.
  size_t of_latest = 0;  // How many were not of the latest 100.
  size_t workers = 0;    // That were members.
};

// Another paradigm has taken over.
struct Switched {
  absl::Time at;
  std::string from;  // SyncPolicy::Describe()
  std::string to;
  std::string reason;
  Version version = 0;
  int64_t samples = 0;  // Counted.
};

// The last push planned before a switch has been counted, or lost.
struct SwitchSettled {
  absl::Time at;
  absl::Duration took;
};

struct Recorded {
  absl::Time at;
  Decision decision;
};

// Everything is counted, closed and answered; no grant is open. This comes
// once, after the last SnapshotCommand.
struct Finished {};

using Output =
    std::variant<Grant, PlanCommand, ExtendCommand, RefreshCommand,
                 AbandonCommand, CloseCommand, FenceCommand, SnapshotCommand,
                 Evicted, PushCounted, Diverged, Switched, SwitchSettled,
                 Recorded, Finished, DropReserved, AnnounceCommand>;

// A worker reports the iteration that it has finished.
struct PushReport {
  Iteration iteration = 0;
  uint32_t samples = 0;  // Used, from the front of the granted ranges.
  uint32_t blocks = 0;
  uint32_t blocks_refused = 0;  // Non-finite, not applied.
  // Nothing was pushed: the plan said so, or the loss was not finite.
  bool discarded = false;
  // Mean over the samples, if it was finite; nothing: it is not known.
  std::optional<double> loss = std::nullopt;
  // The sum of the squares of its gradient; nothing: it is not known.
  std::optional<double> gradient_square = std::nullopt;
  // How long the worker has computed and pushed, as it says. It may have begun
  // before its grant. Zero: it does not say.
  absl::Duration worked = absl::ZeroDuration();
};

// A server answers what it had taken of a fenced worker's last iteration.
struct FenceAnswer {
  int server = 0;           // 0 .. servers - 1
  Iteration iteration = 0;  // 0: it never pushed.
  uint32_t blocks_taken = 0;
  uint32_t blocks = 0;  // The blocks that the server hosts.
  // The samples that the push named; 0: unknown, and the whole granted range is
  // meant.
  uint32_t samples = 0;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_CORE_SYNC_MESSAGES_H_
