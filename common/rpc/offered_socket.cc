#include "common/rpc/offered_socket.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "common/lane/lane_door.h"
#include "common/log/log.h"
#include "common/status.h"

namespace paceline {

absl::Status OfferedSocket::TakeUp(const v1::SocketOffer& offer) {
  if (std::exchange(offered_, true)) {
    return absl::InvalidArgumentError("a second socket");
  }
  absl::StatusOr<MessageSocket::Parts> socket =
      HandOverSocket({offer.address(), offer.token()});
  if (socket.ok()) {
    socket_ = *std::move(socket);
  } else {
    // Between two containers of one machine, say.
    LogInfo("has no socket to the coordinator of this machine",
            {{"reason", Summary(socket.status())}});
  }
  return absl::OkStatus();
}

absl::StatusOr<MessageSocket::Parts> OfferedSocket::Take() {
  if (!socket_.valid()) {
    return absl::InvalidArgumentError("no socket was handed over");
  }
  return std::move(socket_);
}

}  // namespace paceline
