// What the servers of a VirtualCluster and their links are busy with.

#include <cstddef>
#include <optional>
#include <utility>

#include "services/simulator/virtual_cluster.h"

namespace paceline {

// A recorded time includes what the link gave.
bool VirtualCluster::Shares(const std::optional<Nanos>& recorded) const {
  return load_.shares() && !recorded.has_value();
}

void VirtualCluster::Transfer(uint32_t id, Direction direction) {
  VirtualWorker& worker = workers_[id];
  if (direction == Direction::kToServers) worker.sent = kNever;
  load_.Begin(now_, direction, id,
              spec_.workers[worker.index].link.bytes_per_second);
  AwaitTransfers();
}

void VirtualCluster::Transferred(Direction direction) {
  // The event is void if another transfer has begun or stopped since.
  if (load_.NextEnd(direction) != now_) return;
  for (const uint32_t id : load_.TakeEnded(now_, direction)) {
    const Nanos arrives = now_ + LatencyOf(id);
    if (direction == Direction::kFromServers) {
      HaveWeights(id, arrives);
    } else {
      workers_[id].sent = now_;
      Next(id, EventKind::kPushArrives, arrives);
    }
  }
  AwaitTransfers();
}

void VirtualCluster::BreakOff(uint32_t id) {
  load_.Stop(now_, id);
  AwaitTransfers();
  LeaveDevice(id);
}

void VirtualCluster::AwaitTransfers() {
  for (const Direction direction :
       {Direction::kToServers, Direction::kFromServers}) {
    const Nanos end = load_.NextEnd(direction);
    Nanos& awaited = awaited_[static_cast<size_t>(direction)];
    if (std::exchange(awaited, end) == end || end == kNever) continue;
    Send(EventKind::kTransferred, static_cast<uint32_t>(direction), end);
  }
}

}  // namespace paceline
