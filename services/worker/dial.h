#ifndef PACELINE_SERVICES_WORKER_DIAL_H_
#define PACELINE_SERVICES_WORKER_DIAL_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "common/rpc/channel.h"

namespace paceline {

// A channel to `address` ("host:port") that notices a dead peer within
// `liveness`. How it is secured is known to whoever makes the Dial, which is
// main alone. Thread-safe.
using Dial = std::function<std::shared_ptr<grpc::Channel>(
    const std::string& address, ChannelProfile profile,
    absl::Duration liveness)>;

// Without credentials: for the processes of one machine.
inline std::shared_ptr<grpc::Channel> DialPlainly(const std::string& address,
                                                  ChannelProfile profile,
                                                  absl::Duration liveness) {
  return MakeChannel(address, profile, liveness);
}

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_DIAL_H_
