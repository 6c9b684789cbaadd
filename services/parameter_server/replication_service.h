#ifndef PACELINE_SERVICES_PARAMETER_SERVER_REPLICATION_SERVICE_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_REPLICATION_SERVICE_H_

#include "common/rpc/stream_registry.h"
#include "common/security/call_guard.h"
#include "protos/paceline/v1/replication.grpc.pb.h"
#include "services/parameter_server/shard.h"

namespace paceline {

// The backup's side of replication.proto: hands entries to the shard as they
// come, and says which it has. Decides nothing.
class ReplicationService : public v1::Replication::WithRawCallbackMethod_Follow<
                               v1::Replication::Service> {
 public:
  // All outlive the service's server. Without a guard everybody may call.
  ReplicationService(Shard* shard, StreamRegistry* streams,
                     CallGuard* guard = nullptr)
      : shard_(shard), streams_(streams), guard_(guard) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Follow(
      grpc::CallbackServerContext* context) override;

 private:
  Shard* const shard_;
  StreamRegistry* const streams_;
  CallGuard* const guard_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_REPLICATION_SERVICE_H_
