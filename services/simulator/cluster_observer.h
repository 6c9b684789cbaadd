#ifndef PACELINE_SERVICES_SIMULATOR_CLUSTER_OBSERVER_H_
#define PACELINE_SERVICES_SIMULATOR_CLUSTER_OBSERVER_H_

#include <cstdint>

#include "services/coordinator/policy/sync_messages.h"
#include "services/simulator/nanos.h"

namespace paceline {

// Watches a virtual cluster, in the order in which things happen. Who really
// trains can do so here: keep the weights that Pulled() finds, compute at
// Computed(), and apply or gather at PushTaken() and Closed(). Workers are told
// apart by id; one that comes back has a new one.
//
// Does nothing by itself; override what is of interest.
class ClusterObserver {
 public:
  virtual ~ClusterObserver() = default;

  // Worker `worker` is the cluster's `index`th (ClusterSpec::workers). Before
  // its first grant.
  virtual void Joined(Nanos /*at*/, WorkerId /*worker*/, size_t /*index*/) {}

  // Every output of the core, when it is put out.
  virtual void Decided(Nanos /*at*/, const Output& /*output*/) {}

  // The servers send the weights of this moment.
  virtual void Pulled(Nanos /*at*/, const Grant& /*grant*/) {}

  // The gradient of the first `samples` of the grant's range is computed, from
  // the weights that were pulled.
  virtual void Computed(Nanos /*at*/, const Grant& /*grant*/,
                        uint32_t /*samples*/) {}

  // All servers have taken the push and, if its plan is immediate, applied it.
  // Plan and rate of the grant are final: never to be asked for.
  virtual void PushTaken(Nanos /*at*/, const Grant& /*grant*/,
                         uint32_t /*samples*/) {}

  // All servers have applied the closing, or taken the snapshot.
  virtual void Closed(Nanos /*at*/, const CloseCommand& /*close*/) {}
  virtual void SnapshotTaken(Nanos /*at*/, const SnapshotCommand& /*taken*/) {}

  // Asked after each snapshot: once it says yes, no more samples are dealt, and
  // the run ends when what is under way has been counted.
  virtual bool Enough() const { return false; }
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_SIMULATOR_CLUSTER_OBSERVER_H_
