#ifndef PACELINE_SERVICES_SIMULATOR_DEVICE_QUEUE_H_
#define PACELINE_SERVICES_SIMULATOR_DEVICE_QUEUE_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>

#include "services/simulator/nanos.h"

namespace paceline {

// What the iterations that one virtual worker has in flight share: they compute
// in the order in which they ask, and send one after the other over its link.
// Thread-compatible.
class DeviceQueue {
 public:
  // True: `id` has the device now. Otherwise it waits for it.
  bool Ask(uint32_t id) {
    waiting_.push_back(id);
    return waiting_.front() == id;
  }

  // It neither has nor wants the device any more. Whoever has it from now on;
  // nothing if that changes nothing.
  std::optional<uint32_t> Leave(uint32_t id) {
    if (waiting_.empty()) return std::nullopt;
    const bool had_it = waiting_.front() == id;
    std::erase(waiting_, id);
    if (!had_it || waiting_.empty()) return std::nullopt;
    return waiting_.front();
  }

  // When what takes the link for so long is through, in this direction.
  Nanos Send(Nanos now, Nanos takes) { return Through(sent_, now, takes); }
  Nanos Receive(Nanos now, Nanos takes) {
    return Through(received_, now, takes);
  }

 private:
  static Nanos Through(Nanos& last, Nanos now, Nanos takes) {
    return last = std::max(last, now) + takes;
  }

  std::deque<uint32_t> waiting_;  // The first has the device.
  Nanos sent_ = 0;                // When the link is free.
  Nanos received_ = 0;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_SIMULATOR_DEVICE_QUEUE_H_
