#include "services/coordinator/admin/cluster_service.h"

#include "common/proto_time.h"

namespace paceline {

ClusterAdmin::Unary* ClusterAdmin::GetCluster(Context* context,
                                              const v1::GetClusterRequest*,
                                              v1::Cluster* response) {
  return answering_->Read(context, "/paceline.v1.ClusterService/GetCluster",
                          response,
                          [this](const Caller&) { return Describe(); });
}

ClusterAdmin::Unary* ClusterAdmin::ListWorkers(
    Context* context, const v1::ListWorkersRequest* request,
    v1::ListWorkersResponse* response) {
  return answering_->Read(
      context, "/paceline.v1.ClusterService/ListWorkers", response,
      [=, this](const Caller&) { return jobs_->ListWorkers(*request); });
}

ClusterAdmin::Unary* ClusterAdmin::GetWorker(
    Context* context, const v1::GetWorkerRequest* request,
    v1::Worker* response) {
  return answering_->Read(
      context, "/paceline.v1.ClusterService/GetWorker", response,
      [=, this](const Caller&) { return jobs_->GetWorker(request->name()); });
}

ClusterAdmin::Unary* ClusterAdmin::DrainWorker(
    Context* context, const v1::DrainWorkerRequest* request,
    v1::Worker* response) {
  return answering_->Change(context, "/paceline.v1.ClusterService/DrainWorker",
                            request->name(), response,
                            [=, this](const Caller&) {
                              return jobs_->SetDraining(request->name(), true);
                            });
}

ClusterAdmin::Unary* ClusterAdmin::UndrainWorker(
    Context* context, const v1::UndrainWorkerRequest* request,
    v1::Worker* response) {
  return answering_->Change(
      context, "/paceline.v1.ClusterService/UndrainWorker", request->name(),
      response, [=, this](const Caller&) {
        return jobs_->SetDraining(request->name(), false);
      });
}

ClusterAdmin::Unary* ClusterAdmin::ListServers(
    Context* context, const v1::ListServersRequest* request,
    v1::ListServersResponse* response) {
  return answering_->Read(
      context, "/paceline.v1.ClusterService/ListServers", response,
      [=, this](const Caller&) { return jobs_->ListServers(*request); });
}

ClusterAdmin::Unary* ClusterAdmin::ListAuditRecords(
    Context* context, const v1::ListAuditRecordsRequest* request,
    v1::ListAuditRecordsResponse* response) {
  return answering_->Read(
      context, "/paceline.v1.ClusterService/ListAuditRecords", response,
      [=, this](const Caller&) { return jobs_->ListAuditRecords(*request); });
}

absl::StatusOr<v1::Cluster> ClusterAdmin::Describe() const {
  const JobsOptions& options = jobs_->options();
  v1::Cluster cluster;
  cluster.set_version(PACELINE_VERSION);
  const int64_t millis = absl::ToInt64Milliseconds(options.lease);
  cluster.mutable_lease()->set_seconds(millis / 1000);
  cluster.mutable_lease()->set_nanos(
      static_cast<int32_t>(millis % 1000 * 1'000'000));
  *cluster.mutable_start_time() = ToProto(started_);
  *cluster.mutable_quota() = options.quota;
  cluster.set_checkpoint_directory(options.checkpoint_root);
  return cluster;
}

}  // namespace paceline
