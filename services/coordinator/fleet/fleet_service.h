#ifndef PACELINE_SERVICES_COORDINATOR_FLEET_FLEET_SERVICE_H_
#define PACELINE_SERVICES_COORDINATOR_FLEET_FLEET_SERVICE_H_

#include "common/rpc/stream_registry.h"
#include "common/security/call_guard.h"
#include "protos/paceline/v1/fleet.grpc.pb.h"
#include "services/coordinator/fleet/fleet.h"

namespace paceline {

// Fleet on the wire: turns streams into members. Decides nothing.
class FleetService : public v1::Fleet::CallbackService {
 public:
  // All outlive the service's server.
  FleetService(Fleet* fleet, CallGuard* guard, StreamRegistry* streams)
      : fleet_(fleet), guard_(guard), streams_(streams) {}

  grpc::ServerBidiReactor<v1::WorkerMessage, v1::WorkerCommand>* Worker(
      grpc::CallbackServerContext* context) override;
  grpc::ServerBidiReactor<v1::ServerMessage, v1::ServerCommand>* Server(
      grpc::CallbackServerContext* context) override;

 private:
  Fleet* const fleet_;
  CallGuard* const guard_;
  StreamRegistry* const streams_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_FLEET_FLEET_SERVICE_H_
