#ifndef PACELINE_COMMON_RPC_CHANNEL_H_
#define PACELINE_COMMON_RPC_CHANNEL_H_

#include <grpcpp/channel.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace paceline {

// What a connection is for. Both ends of a connection use the same profile.
enum class ChannelProfile {
  kControl,  // Small messages, low latency.
  kBulk,     // Tensor blocks.
};

// A channel to `address` ("host:port"), without credentials: the processes of
// one machine. It notices a dead peer within `liveness`.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           ChannelProfile profile,
                                           absl::Duration liveness);

struct ListeningServer {
  std::unique_ptr<grpc::Server> server;
  std::string address;  // With the port that the system chose.
};

// Serves `service` at `address` ("host:port"; port 0: the system chooses).
// UNAVAILABLE if the address cannot be listened on: in use, or not ours.
absl::StatusOr<ListeningServer> Listen(const std::string& address,
                                       ChannelProfile profile,
                                       grpc::Service* service);

}  // namespace paceline

#endif  // PACELINE_COMMON_RPC_CHANNEL_H_
