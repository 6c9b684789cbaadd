#ifndef PACELINE_SERVICES_SIMULATOR_VIRTUAL_WORKER_H_
#define PACELINE_SERVICES_SIMULATOR_VIRTUAL_WORKER_H_

#include <cstdint>
#include <vector>

#include "services/coordinator/sync/core/sync_messages.h"
#include "services/simulator/device.h"
#include "services/simulator/nanos.h"

namespace paceline {

// The first evaluator; those that come after it count down.
inline constexpr WorkerId kEvaluator{0xffffffff};

// The servers know a worker by it, as in a fence.
inline uint64_t IncarnationOf(uint32_t member) { return uint64_t{member} + 1; }
inline uint32_t WorkerOf(uint64_t incarnation) {
  return static_cast<uint32_t>(incarnation - 1);
}

// What workers and evaluators have in common.
struct VirtualMember {
  bool alive = true;
  // Of the one event that it waits for. Others with its name that carry an
  // older number are void.
  int64_t generation = 0;
  Nanos awake_at = 0;  // Until then it is frozen.
  // Moments of the last message there and the last one back: they stay in
  // order.
  Nanos last_there = 0;
  Nanos last_back = 0;
};

struct VirtualEvaluator : VirtualMember {
  int64_t snapshot = 0;  // Which it evaluates.
};

// One incarnation of a worker: where it is in its iteration.
struct VirtualWorker : VirtualMember {
  enum class Stage : uint8_t {
    kWaiting,    // For a grant.
    kPulling,    // Its weights are to come.
    kQueued,     // For a device on which another iteration computes.
    kComputing,  // Or, on a device of its own, the weights are on their way.
    kAsking,     // For the plan of its push.
    kPushing,    // Up to the coordinator's hearing of it.
    kDropping,   // Has abandoned its iteration, of which the coordinator hears.
  };

  size_t index = 0;  // Into ClusterSpec::workers.
  Stage stage = Stage::kWaiting;
  bool leaving = false;     // As soon as its push is reported.
  bool refresh = false;     // Pushes at the next boundary.
  bool not_finite = false;  // All that it computes.

  Grant grant;
  Iteration dropped = 0;  // Which it is told to drop, or was.
  Device::Iteration iteration;
  uint32_t samples = 0;  // Of the push.
  Nanos granted = 0;     // When it had the grant.
  Nanos began = 0;       // To compute, or to wait for its device.
  Nanos ended = 0;       // When it has computed.
  // The range in hand: how many samples were before it, and when it began.
  uint32_t before = 0;
  Nanos range_began = 0;
  Nanos planned = 0;  // When it had the plan, and pushed.
  Nanos sent = 0;     // When the last byte of the push has left.
  Nanos waits_since = 0;
  // To each server, of a whole run.
  struct Link {
    uint16_t life = 0;  // Of that server, to which it is connected.
    uint8_t left = 0;   // Blocks of its push, in their order.
    bool acknowledged = true;
  };
  std::vector<Link> links;
  uint32_t unacknowledged = 0;  // Servers, of its push.
  bool taken = true;            // All of them have it.
  bool acknowledged = true;     // It knows of that.
  PushReport report;            // Of the push.
  PushReport reported;          // What the coordinator has heard last.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_SIMULATOR_VIRTUAL_WORKER_H_
