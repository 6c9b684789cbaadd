#ifndef PACELINE_SERVICES_COORDINATOR_PROCESS_COORDINATOR_SERVICE_H_
#define PACELINE_SERVICES_COORDINATOR_PROCESS_COORDINATOR_SERVICE_H_

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/impl/service_type.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/security/call_guard.h"
#include "protos/paceline/v1/cluster.pb.h"

namespace paceline {

// CoordinatorService on the wire. Both are called on gRPC's threads, and must
// not block. `guard` outlives the service's server.
struct CoordinatorCalls {
  std::function<v1::ListCoordinatorsResponse()> list;
  std::function<absl::StatusOr<v1::Coordinator>(
      const v1::PromoteCoordinatorRequest&)>
      promote;
};
std::unique_ptr<grpc::Service> MakeCoordinatorService(CoordinatorCalls calls,
                                                      CallGuard* guard);

// Answers every other call of a coordinator that stands by: UNAVAILABLE, reason
// NOT_LEADER, with what `why` says.
std::unique_ptr<grpc::CallbackGenericService> MakeStandbyAnswers(
    std::function<std::string()> why);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_PROCESS_COORDINATOR_SERVICE_H_
