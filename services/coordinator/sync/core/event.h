#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_CORE_EVENT_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_CORE_EVENT_H_

#include <variant>

#include "services/coordinator/sync/core/types.h"

namespace paceline {

// An event is one thing that a SyncPolicy is told. A worker is *computing* from
// its Release to its PushDone or Abandoned, then *waiting* until the next
// Release; or it is *idle*: still a member, but out of every minimum and round
// because nothing is left to deal.

// A new member, waiting for its first release. It takes part at the level of
// the slowest: a join must not stall the others.
struct Joined {
  WorkerId worker;
};

// The member is gone, whatever it was doing. Its id never comes back.
struct Left {
  WorkerId worker;
};

// The worker's last Release could not be followed for want of samples. It
// computes nothing and has pushed nothing since its last PushDone.
struct Idle {
  WorkerId worker;
};

// Samples came back, and the idle worker waits for a release again.
struct Resumed {
  WorkerId worker;
};

// The gradient of an iteration that was released with PushPlan::Ask() is
// computed. Before Apply() returns, the policy plans this worker's push. An
// iteration that an earlier policy released is planned by the core.
struct GradientReady {
  WorkerId worker;
  int64_t staleness = 0;  // Updates since the version of its grant.
};

// The iteration that the last Release permitted has ended, and its push, if
// there was one, is taken by every server. The worker now waits.
struct PushDone {
  WorkerId worker;
  // The share of its usual range that the worker has computed: less than 1 for
  // a short range or a part of one, 0 if it broke off.
  double share = 1;
  // Whether the servers have the push. If not, it was discarded by its plan or
  // for a loss that is not finite, or no samples were left to push: then no
  // round has gathered it, and no version has come of it.
  bool taken = true;
};

// The iteration that the last Release permitted was dropped, its samples are
// dealt again. The worker now waits. This event follows an Abandon, unless the
// push was already on its way: then PushDone comes.
struct Abandoned {
  WorkerId worker;
};

// The worker has begun, or ceased, to be a straggler (StragglerDetector). It
// comes before the PushDone that showed it.
struct Flagged {
  WorkerId worker;
  bool straggler = false;
};

// NextDeadline() has been reached.
struct Tick {};

using Event = std::variant<Joined, Left, Idle, Resumed, GradientReady, PushDone,
                           Abandoned, Flagged, Tick>;

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_CORE_EVENT_H_
