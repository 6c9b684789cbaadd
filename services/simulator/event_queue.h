#ifndef PACELINE_SERVICES_SIMULATOR_EVENT_QUEUE_H_
#define PACELINE_SERVICES_SIMULATOR_EVENT_QUEUE_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "services/simulator/nanos.h"

namespace paceline {

// What can happen in a virtual cluster. At one instant in this order, and then
// by worker: a gradient that is ready goes its whole way, as far as that takes
// no time, before the next worker's does. The core's Ticks come after all of
// those (kLastBeforeTick), everything else after the Ticks.
enum class EventKind : uint8_t {
  kPushDone,          // The coordinator hears of a push.
  kPushArrives,       // The servers have all of it.
  kPushServed,        // They have applied it.
  kTransferred,       // Something has come through a shared link; `worker`: its
                      // Direction.
  kPlanArrives,       // The worker has the plan that it asked for.
  kExtensionArrives,  // The worker has more samples in place of a plan.
  kGradientReady,     // The coordinator is asked for a plan.
  kAbandoned,         // The coordinator hears that an iteration was dropped.
  kComputed,          // The worker has its gradient.
  kLastBeforeTick = kComputed,
  kServerAnswers,  // The next answer, in the order of the commands.
  kDeparted,       // The coordinator hears a farewell.
  kJoins,          // A worker registers.
  kScheduled,      // `argument`: which of the changes that were planned.
  kSwitchDue,
  kPilotLooks,
  kCommandServed,  // The first one that has arrived and waited.
  kServerCommand,  // The next one, in the order in which they were sent.
  kRefresh,        // The command reaches the worker; `argument`: iteration.
  kAbandon,        // Likewise.
  kEvicted,        // Likewise; no argument.
  kPull,           // The servers have the request of a worker's weights.
  kPullServed,     // They have read them.
  kWeightsArrive,  // Where a device is shared: the worker asks for it.
  // Of a whole run.
  kFilesOpened,
  kParametersAdmitted,
  kLoaded,            // The member has its data and its model.
  kInitialized,       // The worker has written the starting weights.
  kEvaluated,         // The evaluator has a result.
  kBlockLeaves,       // `argument`: BlockAddress.
  kBlockArrives,      // Likewise.
  kEntryArrives,      // Server `worker`'s backup has the next entry of its log.
  kEntryKnown,        // The server knows of that. `argument` of both: its log.
  kAcknowledged,      // The worker hears that all blocks were taken.
  kReportRepeated,    // The coordinator hears of the last push again.
  kOrderArrives,      // About a backup; `argument`: which of those given.
  kBackupFilled,      // As that order said.
  kOrderAnswered,     // Likewise.
  kShardMoved,        // The worker hears of it; `argument`: which.
  kBackupBreaks,      // The coordinator hears of it from server `worker`.
  kServerLinkBreaks,  // The coordinator hears of it; `argument`: which process.
  kServerGone,        // The coordinator gives it up; likewise.
  kServerComes,
  kPartWritten,      // Server `worker` has written its part of a checkpoint.
  kManifestWritten,  // `argument`: which of those that were asked for.
  kFilesRemoved,     // The same.
  kEvaluatorKnown,   // The coordinator hears whether there is an evaluator.
  kEvaluatorComes,
  kCoordinatorDies,
  kServerReturns,  // To another life of the coordinator.
  kSecondOver,
};

struct TimedEvent {
  Nanos at = 0;
  EventKind kind = EventKind::kPushDone;
  uint32_t worker = 0;  // Its number in the cluster.
  int64_t argument = 0;
  uint64_t sequence = 0;  // Given by the queue.

  friend bool operator<(const TimedEvent& a, const TimedEvent& b) {
    if (a.at != b.at) return a.at < b.at;
    if (a.kind != b.kind) return a.kind < b.kind;
    if (a.worker != b.worker) return a.worker < b.worker;
    return a.sequence < b.sequence;
  }
};

// A binary heap of plain structs: an event costs no allocation. The first of
// all may stand outside of it, so that an event that is pushed to be popped
// next, as on links that cost nothing, does not go through the heap.
// Thread-compatible.
class EventQueue {
 public:
  bool empty() const { return !first_known_ && heap_.empty(); }
  // REQUIRES: not empty.
  const TimedEvent& top() const {
    return first_known_ ? first_ : heap_.front();
  }

  void Push(TimedEvent event) {
    event.sequence = ++pushed_;
    if (!empty() && top() < event) {
      Insert(event);
      return;
    }
    if (first_known_) Insert(first_);
    first_ = event;
    first_known_ = true;
  }

  // It happens then instead.
  void PutOff(TimedEvent event, Nanos until) {
    event.at = until;
    Push(event);
  }

  // REQUIRES: not empty.
  TimedEvent Pop() {
    if (first_known_) {
      first_known_ = false;
      return first_;
    }
    std::pop_heap(heap_.begin(), heap_.end(), After);
    const TimedEvent event = heap_.back();
    heap_.pop_back();
    return event;
  }

 private:
  static bool After(const TimedEvent& a, const TimedEvent& b) { return b < a; }

  void Insert(const TimedEvent& event) {
    heap_.push_back(event);
    std::push_heap(heap_.begin(), heap_.end(), After);
  }

  TimedEvent first_;  // Before all of the heap, if `first_known_`.
  bool first_known_ = false;
  std::vector<TimedEvent> heap_;
  uint64_t pushed_ = 0;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_SIMULATOR_EVENT_QUEUE_H_
