#ifndef PACELINE_TESTS_COMMON_SECURITY_GUARDED_SERVER_H_
#define PACELINE_TESTS_COMMON_SECURITY_GUARDED_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/connections/connection_accounts.h"
#include "common/rpc/channel.h"
#include "common/security/call_guard.h"
#include "common/security/security.h"
#include "protos/paceline/v1/cluster.grpc.pb.h"
#include "protos/paceline/v1/fleet.grpc.pb.h"

namespace paceline {

// What a client with that certificate, or that token, has.
ClientSecurity ClientWith(const TlsFiles& tls, const std::string& token = "");

// A real server on loopback that does nothing but ask its guard. GetCluster
// answers with the caller's identity as the version.
class GuardedServer {
 public:
  explicit GuardedServer(const ServerSecurity& security,
                         const CallLimits& limits = {},
                         const ListenOptions& options = {});
  ~GuardedServer();

  const std::string& address() const { return listening_.address; }
  RpcServer& server() { return *listening_.server; }

 private:
  class Cluster : public v1::ClusterService::CallbackService {
   public:
    explicit Cluster(CallGuard* guard) : guard_(guard) {}
    // For everybody with a role.
    grpc::ServerUnaryReactor* GetCluster(grpc::CallbackServerContext* context,
                                         const v1::GetClusterRequest* request,
                                         v1::Cluster* reply) override;
    // For administrators.
    grpc::ServerUnaryReactor* DrainWorker(grpc::CallbackServerContext* context,
                                          const v1::DrainWorkerRequest* request,
                                          v1::Worker* reply) override;

   private:
    CallGuard* const guard_;
  };

  class Fleet : public v1::Fleet::CallbackService {
   public:
    explicit Fleet(CallGuard* guard) : guard_(guard) {}
    // For workers. Open until the client ends it.
    grpc::ServerBidiReactor<v1::WorkerMessage, v1::WorkerCommand>* Worker(
        grpc::CallbackServerContext* context) override;

   private:
    CallGuard* const guard_;
  };

  ConnectionAccounts accounts_;
  CallGuard guard_;
  Cluster cluster_;
  Fleet fleet_;
  ListeningServer listening_;
};

// A client of it, with a connection of its own.
class GuardedClient {
 public:
  GuardedClient(const std::string& address, const ClientSecurity& security);

  // Who the server says this is.
  absl::StatusOr<std::string> WhoAmI();
  absl::Status Drain(const std::string& name = "");
  // Opens and ends a worker's stream.
  absl::Status Join();

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

 private:
  std::shared_ptr<grpc::Channel> channel_;
};

// A deadline that ends only what would hang.
void SetLongDeadline(grpc::ClientContext& context);

}  // namespace paceline

#endif  // PACELINE_TESTS_COMMON_SECURITY_GUARDED_SERVER_H_
