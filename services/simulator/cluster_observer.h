#ifndef PACELINE_SERVICES_SIMULATOR_CLUSTER_OBSERVER_H_
#define PACELINE_SERVICES_SIMULATOR_CLUSTER_OBSERVER_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "services/coordinator/run/course/run_messages.h"
#include "services/simulator/nanos.h"

namespace paceline {

class RunCourse;

// When a worker did what in one iteration, by its own clock. Each is at or
// after the one before it; where the iteration broke off, those that did not
// come about are the moment at which it did.
struct IterationTimes {
  Nanos granted = 0;   // Had its grant, and asked for the weights.
  Nanos began = 0;     // Had them, and began to compute.
  Nanos ended = 0;     // Had its gradient; asked for the plan, if it has to.
  Nanos planned = 0;   // Had the plan, and began to push.
  Nanos reported = 0;  // Had the servers' acknowledgement, and reported.
};

// Watches a virtual cluster, in the order in which things happen. Who really
// trains can do so here: keep the weights that Pulled() finds, compute and
// apply or gather at PushTaken(), apply what was gathered at Closed(), evaluate
// at SnapshotTaken(). Workers are told apart by id; one that comes back has a
// new one.
//
// Does nothing by itself; override what is of interest.
class ClusterObserver {
 public:
  virtual ~ClusterObserver() = default;

  // Worker `worker` is the cluster's `index`th (ClusterSpec::workers). Before
  // its first grant.
  virtual void Joined(Nanos /*at*/, WorkerId /*worker*/, size_t /*index*/) {}

  // The run's course is about to take an input; its outputs follow, each when
  // it is put out; then all of them are out, and `status` is what the course
  // said of the input.
  virtual void Given(Nanos /*at*/, const RunInput& /*input*/) {}
  virtual void Decided(Nanos /*at*/, const RunOutput& /*output*/) {}
  virtual void Stepped(Nanos /*at*/, const RunCourse& /*course*/,
                       const absl::Status& /*status*/) {}

  // The servers send the weights of this moment.
  virtual void Pulled(Nanos /*at*/, const Grant& /*grant*/) {}

  // The gradient of the first `samples` of the grant's range is computed, from
  // the weights that were pulled.
  virtual void Computed(Nanos /*at*/, const Grant& /*grant*/,
                        uint32_t /*samples*/) {}

  // Server `server` has taken one block of the push; the rest is as in
  // PushTaken(). Of what a server refuses nobody hears.
  virtual void BlockTaken(Nanos /*at*/, int /*server*/, const Grant& /*grant*/,
                          uint32_t /*samples*/) {}

  // Server `server` has carried out the command.
  virtual void Performed(Nanos /*at*/, int /*server*/,
                         const NumberedCommand& /*command*/) {}

  // All servers have taken the push and, if its plan is immediate, applied it.
  // Plan and rate of the grant are final: never to be asked for. Who trains
  // writes what the worker says of its loss and its gradient.
  virtual void PushTaken(Nanos /*at*/, const Grant& /*grant*/,
                         uint32_t /*samples*/, PushReport& /*report*/) {}

  // The coordinator hears of the iteration; or it broke off: the worker was
  // told to drop it, or is gone, or the run is over. Once for every grant that
  // a living worker had, before it has the next one and before Gone().
  virtual void IterationOver(Nanos /*at*/, const Grant& /*grant*/,
                             const IterationTimes& /*times*/) {}

  // The worker has left, has crashed or was given up; or the run is over, and
  // it was still there.
  virtual void Gone(Nanos /*at*/, WorkerId /*worker*/) {}

  // All servers have applied the closing. Who trains writes what they say of
  // its gradient, all of them together.
  virtual void Closed(Nanos /*at*/, const CloseCommand& /*close*/,
                      std::optional<ClosedGradient>& /*gradient*/) {}

  // All servers have taken the snapshot. Who evaluates it writes what the
  // evaluator says: its accuracy and loss, or why it cannot.
  virtual void SnapshotTaken(Nanos /*at*/, const SnapshotCommand& /*taken*/,
                             MemberEvaluated& /*evaluated*/) {}
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_SIMULATOR_CLUSTER_OBSERVER_H_
