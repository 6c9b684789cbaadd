#ifndef PACELINE_SERVICES_COORDINATOR_STANDBY_STANDBY_SERVICE_H_
#define PACELINE_SERVICES_COORDINATOR_STANDBY_STANDBY_SERVICE_H_

#include "common/rpc/stream_registry.h"
#include "common/security/call_guard.h"
#include "protos/paceline/v1/standby.grpc.pb.h"
#include "services/coordinator/standby/standby_host.h"

namespace paceline {

// standby.proto on the wire. Decides nothing: the host does.
class StandbyService final : public v1::Standby::CallbackService {
 public:
  // All outlive the service's server.
  StandbyService(StandbyHost* host, StreamRegistry* streams, CallGuard* guard)
      : host_(host), streams_(streams), guard_(guard) {}

  grpc::ServerBidiReactor<v1::StandbyMessage, v1::LeaderMessage>* Follow(
      grpc::CallbackServerContext* context) override;

 private:
  StandbyHost* const host_;
  StreamRegistry* const streams_;
  CallGuard* const guard_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_STANDBY_STANDBY_SERVICE_H_
