#ifndef PACELINE_SERVICES_COORDINATOR_ADMIN_CLUSTER_SERVICE_H_
#define PACELINE_SERVICES_COORDINATOR_ADMIN_CLUSTER_SERVICE_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "protos/paceline/v1/cluster.grpc.pb.h"
#include "services/coordinator/admin/answering.h"
#include "services/coordinator/control/jobs.h"

namespace paceline {

// ClusterService on the wire. Decides nothing.
class ClusterAdmin : public v1::ClusterService::CallbackService {
 public:
  // All outlive the service's server. `started` is wall-clock time.
  ClusterAdmin(Jobs* jobs, Answering* answering, absl::Time started)
      : jobs_(jobs), answering_(answering), started_(started) {}

  // clang-format off
  PACELINE_READ(ClusterService, GetCluster, v1::Cluster, Describe())
  PACELINE_READ(ClusterService, ListWorkers, v1::ListWorkersResponse,
                jobs_->ListWorkers(*request))
  PACELINE_READ(ClusterService, GetWorker, v1::Worker,
                jobs_->GetWorker(request->name()))
  PACELINE_READ(ClusterService, ListServers, v1::ListServersResponse,
                jobs_->ListServers(*request))
  PACELINE_READ(ClusterService, ListAuditRecords, v1::ListAuditRecordsResponse,
                jobs_->ListAuditRecords(*request))
  PACELINE_CHANGE(ClusterService, DrainWorker, v1::Worker, request->name(),
                  jobs_->SetDraining(request->name(), true))
  PACELINE_CHANGE(ClusterService, UndrainWorker, v1::Worker, request->name(),
                  jobs_->SetDraining(request->name(), false))
  // clang-format on

 private:
  absl::StatusOr<v1::Cluster> Describe() const;

  Jobs* const jobs_;
  Answering* const answering_;
  const absl::Time started_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_ADMIN_CLUSTER_SERVICE_H_
