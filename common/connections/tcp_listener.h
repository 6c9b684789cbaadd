#ifndef PACELINE_COMMON_CONNECTIONS_TCP_LISTENER_H_
#define PACELINE_COMMON_CONNECTIONS_TCP_LISTENER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace paceline {

// Sockets that wait for connections, all at one port. Their connections send
// small messages at once, and end 20 s after the peer has stopped to
// acknowledge what was sent.
struct TcpListener {
  std::vector<UniqueFd> sockets;  // Non-blocking; at least one.
  int port = 0;
};

// Listens at `address`, "host:port" or "[ip]:port", on every address that a
// name stands for. Port 0: the system chooses. 0.0.0.0 and [::] both mean every
// address of either family.
//   INVALID_ARGUMENT  it is no such address.
//   UNAVAILABLE       none of it can be listened on: why, in the words of the
//                     system.
absl::StatusOr<TcpListener> ListenOnTcp(const std::string& address);

}  // namespace paceline

#endif  // PACELINE_COMMON_CONNECTIONS_TCP_LISTENER_H_
