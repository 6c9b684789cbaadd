#include "services/coordinator/admin/cluster_service.h"

#include <utility>
#include <vector>

#include "common/proto_time.h"
#include "common/status.h"
#include "services/coordinator/jobs/page_token.h"
#include "services/coordinator/jobs/request_check.h"

namespace paceline {

namespace {
constexpr absl::Duration kFlushTimeout = absl::Seconds(1);
}  // namespace

ClusterAdmin::Unary* ClusterAdmin::GetCluster(Context* context,
                                              const v1::GetClusterRequest*,
                                              v1::Cluster* response) {
  return answering_->Read(
      context, "/paceline.v1.ClusterService/GetCluster", response,
      [=, this](const Caller&) -> absl::StatusOr<v1::Cluster> {
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
      });
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
      [=, this](const Caller&) { return Servers(*request); });
}

absl::StatusOr<v1::ListServersResponse> ClusterAdmin::Servers(
    const v1::ListServersRequest& request) const {
  PACELINE_ASSIGN_OR_RETURN(const KeyPage wanted, CheckList(request));
  PageOf<v1::Server> page =
      TakePage(jobs_->Servers(), wanted.page, wanted.query,
               [](const v1::Server& server) { return server.name(); });
  v1::ListServersResponse response;
  for (v1::Server& server : page.items) {
    *response.add_servers() = std::move(server);
  }
  response.set_next_page_token(page.next_page_token);
  return response;
}

ClusterAdmin::Unary* ClusterAdmin::ListAuditRecords(
    Context* context, const v1::ListAuditRecordsRequest* request,
    v1::ListAuditRecordsResponse* response) {
  return answering_->Read(
      context, "/paceline.v1.ClusterService/ListAuditRecords", response,
      [=, this](const Caller&) { return AuditRecords(*request); });
}

absl::StatusOr<v1::ListAuditRecordsResponse> ClusterAdmin::AuditRecords(
    const v1::ListAuditRecordsRequest& request) const {
  PACELINE_ASSIGN_OR_RETURN(const AuditPage wanted, CheckList(request));
  // What happened before the call is in the answer, unless the disk is slow.
  journal_->Flush(kFlushTimeout).IgnoreError();
  PACELINE_ASSIGN_OR_RETURN(
      std::vector<v1::AuditRecord> records,
      store_->ListAuditRecords(wanted.page.after, wanted.page.size + 1));
  v1::ListAuditRecordsResponse response;
  for (v1::AuditRecord& record : records) {
    if (response.audit_records_size() == wanted.page.size) {
      response.set_next_page_token(NextSequenceToken(
          wanted.query, response.audit_records().rbegin()->sequence()));
      break;
    }
    *response.add_audit_records() = std::move(record);
  }
  return response;
}

}  // namespace paceline
