#ifndef PACELINE_COMMON_RPC_CHANNEL_H_
#define PACELINE_COMMON_RPC_CHANNEL_H_

#include <grpcpp/channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/impl/service_type.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/connections/connection_accounts.h"
#include "common/rpc/connection_report.h"
#include "common/rpc/rpc_server.h"
#include "common/security/security.h"

namespace paceline {

class RpcMetrics;

// What a connection is for. Both ends of a connection use the same profile.
enum class ChannelProfile {
  kControl,  // Small messages, low latency.
  kBulk,     // Tensor blocks.
};

// A channel to `address` ("host:port"). It notices a dead peer within
// three quarters of `liveness`. The token, if there is one, goes with every
// call. A larger message than 64 MiB (bulk: 2 MiB) is RESOURCE_EXHAUSTED.
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
  // Those that the services' CallGuard has: what a connection sends and no call
  // has been given is limited by them (connection_budget.h). Null: it is not.
  // They and the report outlive the server.
  ConnectionAccounts* accounts = nullptr;
  ConnectionReport* connections = nullptr;  // Null: nobody is told.
  // What connections that have shown credentials may have waiting in all, in
  // bytes; 0: as the profile has it.
  int64_t known_bytes = 0;
  // Answers whatever is called that no service has; null: UNIMPLEMENTED. It
  // outlives the server.
  grpc::CallbackGenericService* otherwise = nullptr;
};

struct ListeningServer {
  ServerSecurity security;  // Its files are watched as long as it is there.
  std::unique_ptr<RpcServer> server;
  std::string address;  // With the port that the system chose.
};

// Serves `services`, and grpc.health.v1 to everybody, at `address`
// ("host:port"; port 0: the system chooses). A message of more than 4 MiB
// (bulk: 2 MiB), or with more than 8 KiB of metadata, is RESOURCE_EXHAUSTED,
// and one that is compressed UNIMPLEMENTED.
//   INVALID_ARGUMENT  `address` is no "host:port"; or plaintext on one that
//                     others can reach, unless `security` allows it:
//                     CheckListenAddress().
//   UNAVAILABLE       the address cannot be listened on: in use, or not ours.
absl::StatusOr<ListeningServer> Listen(
    const std::string& address, ChannelProfile profile,
    const ServerSecurity& security, const std::vector<grpc::Service*>& services,
    const ListenOptions& options = {});

}  // namespace paceline

#endif  // PACELINE_COMMON_RPC_CHANNEL_H_
