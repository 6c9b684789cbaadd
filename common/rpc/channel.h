#ifndef PACELINE_COMMON_RPC_CHANNEL_H_
#define PACELINE_COMMON_RPC_CHANNEL_H_

#include <grpcpp/channel.h>
#include <grpcpp/server.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/security/security.h"

namespace paceline {

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
  // Calls at a time on one connection; more wait at the client.
  int max_concurrent_streams = 1'000;
  // grpc.reflection.v1alpha, for clients without our protos; to everybody.
  bool reflection = false;
  // Where calls are counted; null: nowhere. It outlives the server. Each
  // message of a stream passes it: not for bulk.
  RpcMetrics* metrics = nullptr;
};

struct ListeningServer {
  ServerSecurity security;  // Its files are watched as long as it is there.
  std::unique_ptr<grpc::Server> server;
  std::string address;  // With the port that the system chose.
};

// Serves `services`, and grpc.health.v1 to everybody, at `address`
// ("host:port"; port 0: the system chooses). A message of more than 4 MiB
// (bulk: 2 MiB), or with more than 8 KiB of metadata, is RESOURCE_EXHAUSTED.
//   INVALID_ARGUMENT  plaintext on an address that others can reach, unless
//                     `security` allows it: CheckListenAddress().
//   UNAVAILABLE       the address cannot be listened on: in use, or not ours.
absl::StatusOr<ListeningServer> Listen(
    const std::string& address, ChannelProfile profile,
    const ServerSecurity& security, const std::vector<grpc::Service*>& services,
    const ListenOptions& options = {});

// Tells those who watch grpc.health.v1 that the server is about to stop, or
// that it serves again. Before a drain, so that balancers stop sending calls.
void SetServing(grpc::Server& server, bool serving);

}  // namespace paceline

#endif  // PACELINE_COMMON_RPC_CHANNEL_H_
