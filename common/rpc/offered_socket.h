#ifndef PACELINE_COMMON_RPC_OFFERED_SOCKET_H_
#define PACELINE_COMMON_RPC_OFFERED_SOCKET_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/lane/message_socket.h"
#include "protos/paceline/v1/socket.pb.h"

namespace paceline {

// Of one stream's client, if its server is on this machine: an end of a pair of
// sockets, from the offer until the stream goes on by it. Thread-compatible.
class OfferedSocket {
 public:
  // Hands over the other end, or logs why it cannot. INVALID_ARGUMENT for a
  // second offer.
  absl::Status TakeUp(const v1::SocketOffer& offer);

  // What a StreamBypass is made of, once. INVALID_ARGUMENT if nothing was
  // handed over.
  absl::StatusOr<MessageSocket::Parts> Take();

 private:
  bool offered_ = false;
  MessageSocket::Parts socket_;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_RPC_OFFERED_SOCKET_H_
