#ifndef PACELINE_SERVICES_COORDINATOR_FLEET_FLEET_SERVICE_H_
#define PACELINE_SERVICES_COORDINATOR_FLEET_FLEET_SERVICE_H_

#include <grpcpp/impl/service_type.h>

#include <memory>

#include "common/lane/lane_door.h"
#include "common/rpc/stream_registry.h"
#include "common/security/call_guard.h"
#include "services/coordinator/fleet/fleet.h"
#include "services/coordinator/fleet/fleet_metrics.h"

namespace paceline {

// Fleet on the wire: turns the members' sessions, each carried by one stream
// after the other, into members. It decides nothing. With `sockets`, which may
// be null, the streams of members of this machine go on by sockets. All
// pointers outlive the service's server.
std::unique_ptr<grpc::Service> MakeFleetService(Fleet* fleet, CallGuard* guard,
                                                StreamRegistry* streams,
                                                FleetMetrics* metrics,
                                                LaneDoor* sockets = nullptr);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_FLEET_FLEET_SERVICE_H_
