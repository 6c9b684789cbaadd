#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_STEALING_BSP_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_STEALING_BSP_H_

#include <memory>

#include "common/job/paradigm_spec.h"
#include "services/coordinator/sync/core/sync_policy.h"

namespace paceline {

// Bulk synchronous parallel whose rounds nobody waits in. A round is as long as
// BSP's, a batch for each member that it opens with, but a worker begins with
// a part of it only, in proportion to its measured pace, and whoever has
// finished takes from what nobody has begun: nine tenths of what it would
// still have to do if all went on as they are, less if its times are hard to
// foresee, and at least a `pieces`th of a batch. So a GPU gets large parts
// first, and only the end of a round is cut small. A
// worker that would hold up the others with the least of them pushes what it
// has, once. The update is the mean over exactly the round's samples, all of
// one version, as BSP's is.
//
// The idea is FlexRR's (Harlap et al., SoCC 2016: peers take over iterations of
// a slow worker) with the rule of guided self-scheduling (Polychronopoulos and
// Kuck, 1987): what is not begun lies with the coordinator, so nothing has to
// be taken from anybody. How large a part is, and when the least one is left to
// others, is our reading.
//
// With `redo`, which is the default without `fill`, a worker that is much later
// than foreseen, because it stands still say, is told to drop its part, and
// those who wait compute as many other samples for the round, of the same
// version. Its own are dealt again. So the round waits for nobody much longer
// than it takes to do without him (backup tasks: Dean and Ghemawat, OSDI 2004,
// section 3.6; when is our reading). The next round is as long as if he took
// part in it.
//
// Who joins or resumes while a round is open takes part from the next one on;
// with `fill` it takes at once from what nobody has begun.
// What a lost worker had begun is dealt in later rounds: its round is smaller.
// A worker that cannot extend an iteration pushes each part by itself.
//
// With `fill` a worker that finds nothing to take, or comes too late for the
// round, begins with samples of the next one, on the weights that there are. It
// takes what fits into the wait that is foreseen, asks again, and goes on so
// until the round is closed. Then it pushes what it has into the round that
// follows, and takes part in that. Those samples count towards that round, so
// that it is as long as ever; they are of the version before, so their
// staleness is 1. It is 2 where a lost worker's push makes a version of its
// own. They are at most half of a round.
// REQUIRES: options.steal.
std::unique_ptr<SyncPolicy> MakeStealingBsp(const BspOptions& options);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_PARADIGMS_STEALING_BSP_H_
