#ifndef PACELINE_COMMON_RPC_RPC_SERVER_H_
#define PACELINE_COMMON_RPC_RPC_SERVER_H_

#include <grpcpp/server.h>

#include <memory>
#include <utility>

#include "common/connections/door.h"

namespace paceline {

// A gRPC server and the door through which its connections come. The door is
// closed before the server stops: gRPC would lose what comes later.
// Thread-safe.
class RpcServer {
 public:
  RpcServer(std::unique_ptr<grpc::Server> server, std::unique_ptr<Door> door)
      : door_(std::move(door)), server_(std::move(server)) {}
  ~RpcServer() { Shutdown(); }

  // Nothing new comes in. Calls go on until they end, or are cancelled at
  // `deadline`, whatever gRPC takes for one; returns when none is left.
  void Shutdown() {
    door_->Stop();
    server_->Shutdown();
  }
  template <class Deadline>
  void Shutdown(const Deadline& deadline) {
    door_->Stop();
    server_->Shutdown(deadline);
  }

  // Until it is shut down and every call has ended.
  void Wait() { server_->Wait(); }

  // Tells those who watch grpc.health.v1 that the server is about to stop, or
  // that it serves again. Before a drain, so that balancers stop sending calls.
  void SetServing(bool serving) {
    server_->GetHealthCheckService()->SetServingStatus(serving);
  }

 private:
  // Dies last: it watches the connections until the server has ended them.
  const std::unique_ptr<Door> door_;
  const std::unique_ptr<grpc::Server> server_;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_RPC_RPC_SERVER_H_
