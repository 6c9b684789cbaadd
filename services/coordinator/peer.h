#ifndef PACELINE_SERVICES_COORDINATOR_PEER_H_
#define PACELINE_SERVICES_COORDINATOR_PEER_H_

#include <functional>

#include "absl/status/status.h"

namespace paceline {

// A member's stream as the coordinator sees it: where its commands go. Both
// calls only queue; they do nothing once the stream is gone. Thread-safe.
template <class Command>
struct Peer {
  std::function<void(Command)> send;
  std::function<void(const absl::Status&)> close;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_PEER_H_
