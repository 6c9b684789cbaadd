#ifndef PACELINE_SERVICES_COORDINATOR_POLICY_EVENT_H_
#define PACELINE_SERVICES_COORDINATOR_POLICY_EVENT_H_

#include <variant>

#include "absl/time/time.h"
#include "services/coordinator/policy/types.h"

namespace paceline {

// What a SyncPolicy is told. A worker is *computing* from its Release to its
// PushDone or Abandoned, then *waiting* until the next Release; or it is
// *idle*: still a member, but out of every minimum and round because nothing is
// left to deal.

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

// The push of the iteration that the last Release permitted is taken by every
// server (or was dropped by a recorded decision). The worker now waits.
struct PushDone {
  WorkerId worker;
  // What it computed, as a share of the range that it usually gets: less than 1
  // for a short range or a part of one, 0 if it broke off.
  double share = 1;
  // Whether the servers have it; false: its plan, or a loss that is not finite,
  // discarded it.
  bool taken = true;
};

// The iteration that the last Release permitted was dropped, its samples are
// dealt again. The worker now waits. Comes after Abandon, unless the push was
// already on its way: then PushDone comes.
struct Abandoned {
  WorkerId worker;
};

// The worker has begun, or ceased, to be a straggler (StragglerDetector). Comes
// before the PushDone that showed it.
struct Flagged {
  WorkerId worker;
  bool straggler = false;
};

// NextDeadline() has been reached.
struct Tick {};

using Event = std::variant<Joined, Left, Idle, Resumed, GradientReady, PushDone,
                           Abandoned, Flagged, Tick>;

// When an event happened, and how far the job was then: the event's own push is
// counted; rounds that are closed because of the event are not yet.
struct Moment {
  absl::Time now;
  Version version = 0;
  int64_t samples_counted = 0;
  int64_t samples_total = 0;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_POLICY_EVENT_H_
