#ifndef PACELINE_TESTS_SERVICES_CLI_ADMIN_FAKE_CLUSTER_H_
#define PACELINE_TESTS_SERVICES_CLI_ADMIN_FAKE_CLUSTER_H_

#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "common/rpc/channel.h"
#include "common/rpc/grpc_status.h"
#include "protos/paceline/v1/cluster.grpc.pb.h"
#include "protos/paceline/v1/jobs.grpc.pb.h"

namespace paceline {

// What a test lets a method do. It may be replaced while a call of it runs,
// whose client has gone on already.
template <class... Arguments>
class Scripted {
 public:
  using Function = std::function<absl::Status(Arguments...)>;

  // One that returns nothing succeeds.
  template <class Answer>
  Scripted& operator=(Answer answer) {
    absl::MutexLock lock(&mu_);
    function_ = [answer = std::move(answer)](
                    Arguments... arguments) mutable -> absl::Status {
      if constexpr (std::is_void_v<
                        std::invoke_result_t<Answer&, Arguments...>>) {
        answer(arguments...);
        return absl::OkStatus();
      } else {
        return answer(arguments...);
      }
    };
    return *this;
  }

  // Every call gets this response.
  template <class Response>
  void Gives(const Response& response) {
    *this = [response](const auto&, auto* given) { *given = response; };
  }

  // UNIMPLEMENTED where the test expected no call.
  grpc::Status operator()(Arguments... arguments) const {
    Function function;
    {
      absl::MutexLock lock(&mu_);
      function = function_;
    }
    return ToGrpc(function == nullptr
                      ? absl::UnimplementedError("this test expected no call")
                      : function(arguments...));
  }

 private:
  mutable absl::Mutex mu_;
  Function function_ ABSL_GUARDED_BY(mu_);
};

#define PACELINE_FAKE(Method, RequestType, ResponseType)                \
  Scripted<const RequestType&, ResponseType*> on##Method;               \
  grpc::Status Method(grpc::ServerContext*, const RequestType* request, \
                      ResponseType* response) override {                \
    return on##Method(*request, response);                              \
  }

class FakeJobService final : public v1::JobService::Service {
 public:
  PACELINE_FAKE(CreateJob, v1::CreateJobRequest, v1::Job)
  PACELINE_FAKE(GetJob, v1::GetJobRequest, v1::Job)
  PACELINE_FAKE(ListJobs, v1::ListJobsRequest, v1::ListJobsResponse)
  PACELINE_FAKE(UpdateJob, v1::UpdateJobRequest, v1::Job)
  PACELINE_FAKE(DeleteJob, v1::DeleteJobRequest, google::protobuf::Empty)
  PACELINE_FAKE(PauseJob, v1::PauseJobRequest, v1::Job)
  PACELINE_FAKE(ResumeJob, v1::ResumeJobRequest, v1::Job)
  PACELINE_FAKE(CancelJob, v1::CancelJobRequest, v1::Job)
  PACELINE_FAKE(SwitchParadigm, v1::SwitchParadigmRequest, v1::Job)
  PACELINE_FAKE(RestoreJob, v1::RestoreJobRequest, v1::Job)
  PACELINE_FAKE(ListDecisions, v1::ListDecisionsRequest,
                v1::ListDecisionsResponse)
  PACELINE_FAKE(ListAccuracyPoints, v1::ListAccuracyPointsRequest,
                v1::ListAccuracyPointsResponse)
  PACELINE_FAKE(ListIterations, v1::ListIterationsRequest,
                v1::ListIterationsResponse)
  PACELINE_FAKE(GetJobReport, v1::GetJobReportRequest, v1::JobReport)
  PACELINE_FAKE(CreateCheckpoint, v1::CreateCheckpointRequest, v1::Checkpoint)
  PACELINE_FAKE(GetCheckpoint, v1::GetCheckpointRequest, v1::Checkpoint)
  PACELINE_FAKE(ListCheckpoints, v1::ListCheckpointsRequest,
                v1::ListCheckpointsResponse)
  PACELINE_FAKE(ReadCheckpoint, v1::ReadCheckpointRequest,
                v1::ReadCheckpointResponse)
  PACELINE_FAKE(DeleteCheckpoint, v1::DeleteCheckpointRequest,
                google::protobuf::Empty)

  // Writes events; false once nobody reads them.
  using WriteEvent = std::function<bool(const v1::WatchJobResponse&)>;
  Scripted<const v1::WatchJobRequest&, const WriteEvent&> onWatchJob;
  grpc::Status WatchJob(
      grpc::ServerContext* context, const v1::WatchJobRequest* request,
      grpc::ServerWriter<v1::WatchJobResponse>* writer) override;
};

class FakeClusterService final : public v1::ClusterService::Service {
 public:
  PACELINE_FAKE(GetCluster, v1::GetClusterRequest, v1::Cluster)
  PACELINE_FAKE(ListWorkers, v1::ListWorkersRequest, v1::ListWorkersResponse)
  PACELINE_FAKE(GetWorker, v1::GetWorkerRequest, v1::Worker)
  PACELINE_FAKE(DrainWorker, v1::DrainWorkerRequest, v1::Worker)
  PACELINE_FAKE(UndrainWorker, v1::UndrainWorkerRequest, v1::Worker)
  PACELINE_FAKE(ReadWorkerLog, v1::ReadWorkerLogRequest,
                v1::ReadWorkerLogResponse)
  PACELINE_FAKE(ReadServerLog, v1::ReadServerLogRequest,
                v1::ReadServerLogResponse)
  PACELINE_FAKE(ListServers, v1::ListServersRequest, v1::ListServersResponse)
  PACELINE_FAKE(ListAuditRecords, v1::ListAuditRecordsRequest,
                v1::ListAuditRecordsResponse)
};

#undef PACELINE_FAKE

// A coordinator's two services on a port of this machine, which do what the
// test says. What it says runs on gRPC's threads.
class FakeCluster {
 public:
  explicit FakeCluster(const ServerSecurity& security = {});
  ~FakeCluster();

  const std::string& address() const { return listening_.address; }

  // The server goes away, and comes back at the same address.
  void Stop();
  void Start();

  FakeJobService jobs;
  FakeClusterService cluster;

 private:
  void Serve(const std::string& address);

  const ServerSecurity security_;
  ListeningServer listening_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_CLI_ADMIN_FAKE_CLUSTER_H_
