#ifndef PACELINE_SERVICES_COORDINATOR_ADMIN_ADMIN_SERVICES_H_
#define PACELINE_SERVICES_COORDINATOR_ADMIN_ADMIN_SERVICES_H_

#include <grpcpp/impl/service_type.h>

#include <memory>

#include "absl/time/time.h"
#include "common/rpc/stream_registry.h"
#include "services/coordinator/admin/answering.h"
#include "services/coordinator/control/jobs.h"
#include "services/coordinator/watch/watch_pump.h"

namespace paceline {

// The admin API on the wire. It decides nothing: `jobs` does. All pointers
// outlive the service's server.

std::unique_ptr<grpc::Service> MakeJobService(Jobs* jobs, Answering* answering,
                                              StreamRegistry* streams,
                                              WatchPump* pump);

// `started` is wall-clock time.
std::unique_ptr<grpc::Service> MakeClusterService(Jobs* jobs,
                                                  Answering* answering,
                                                  absl::Time started);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_ADMIN_ADMIN_SERVICES_H_
