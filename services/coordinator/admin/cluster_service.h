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

  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;

  Unary* GetCluster(Context* context, const v1::GetClusterRequest* request,
                    v1::Cluster* response) override;
  Unary* ListWorkers(Context* context, const v1::ListWorkersRequest* request,
                     v1::ListWorkersResponse* response) override;
  Unary* GetWorker(Context* context, const v1::GetWorkerRequest* request,
                   v1::Worker* response) override;
  Unary* DrainWorker(Context* context, const v1::DrainWorkerRequest* request,
                     v1::Worker* response) override;
  Unary* UndrainWorker(Context* context,
                       const v1::UndrainWorkerRequest* request,
                       v1::Worker* response) override;
  Unary* ListServers(Context* context, const v1::ListServersRequest* request,
                     v1::ListServersResponse* response) override;
  Unary* ListAuditRecords(Context* context,
                          const v1::ListAuditRecordsRequest* request,
                          v1::ListAuditRecordsResponse* response) override;

 private:
  absl::StatusOr<v1::Cluster> Describe() const;

  Jobs* const jobs_;
  Answering* const answering_;
  const absl::Time started_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_ADMIN_CLUSTER_SERVICE_H_
