#ifndef PACELINE_COMMON_RPC_CHANNEL_H_
#define PACELINE_COMMON_RPC_CHANNEL_H_

#include <grpcpp/channel.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/security/security.h"

namespace paceline {

// Services of gRPC's own, server by server: what gRPC itself offers switches
// them for the whole process.

// Adds or leaves out grpc.reflection.v1alpha.ServerReflection.
std::unique_ptr<grpc::ServerBuilderOption> ReflectionOption(bool enabled);

// Adds or leaves out grpc.health.v1.Health, SERVING from the start.
std::unique_ptr<grpc::ServerBuilderOption> HealthOption(bool enabled);

class RpcMetrics;

// What a connection is for. Both ends of a connection use the same profile.
enum class ChannelProfile {
  kControl,  // Small messages, low latency.
  kBulk,     // Tensor blocks.
};

// A channel to `address` ("host:port"). It notices a dead peer within
// `liveness`. The token, if there is one, goes with every call. A larger
// message than 64 MiB (bulk: 2 MiB) is RESOURCE_EXHAUSTED.
//
// Where CheckDialAddress() refuses the address, every call fails with
// FAILED_PRECONDITION and its message, and nothing is sent.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           ChannelProfile profile,
                                           absl::Duration liveness,
                                           const ClientSecurity& security = {});

struct ListenOptions {
  // A larger message is RESOURCE_EXHAUSTED. 0: what the profile is made for,
  // 4 MiB for control, 2 MiB for bulk.
  int max_receive_bytes = 0;
  // Calls at a time on one connection; more wait at the client.
  int max_concurrent_streams = 1'000;
  // The most metadata of a call; one with more is RESOURCE_EXHAUSTED.
  int max_metadata_bytes = 8 << 10;
  // grpc.reflection.v1alpha, for clients without our protos; to everybody.
  bool reflection = false;
  // grpc.health.v1, to everybody.
  bool health = true;
  // Where calls are counted; null: nowhere. It outlives the server. Each
  // message of a stream passes it: not for bulk.
  RpcMetrics* metrics = nullptr;
};

struct ListeningServer {
  ServerSecurity security;  // Its files are watched as long as it is there.
  std::unique_ptr<grpc::Server> server;
  std::string address;  // With the port that the system chose.
};

// Serves `services` at `address` ("host:port"; port 0: the system chooses).
//   INVALID_ARGUMENT  plaintext on an address that others can reach, unless
//                     `security` allows it: CheckListenAddress().
//   UNAVAILABLE       the address cannot be listened on: in use, or not ours.
absl::StatusOr<ListeningServer> Listen(
    const std::string& address, ChannelProfile profile,
    const ServerSecurity& security, const std::vector<grpc::Service*>& services,
    const ListenOptions& options = {});

// Without TLS, and without anything but `service`.
absl::StatusOr<ListeningServer> Listen(const std::string& address,
                                       ChannelProfile profile,
                                       grpc::Service* service);

// Tells those who watch grpc.health.v1 that the server is about to stop, or
// that it serves again. Before a drain, so that balancers stop sending calls.
// Nothing happens on a server without it.
void SetServing(grpc::Server& server, bool serving);

}  // namespace paceline

#endif  // PACELINE_COMMON_RPC_CHANNEL_H_
