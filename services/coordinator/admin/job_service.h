#ifndef PACELINE_SERVICES_COORDINATOR_ADMIN_JOB_SERVICE_H_
#define PACELINE_SERVICES_COORDINATOR_ADMIN_JOB_SERVICE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "common/rpc/stream_registry.h"
#include "protos/paceline/v1/jobs.grpc.pb.h"
#include "services/coordinator/admin/answering.h"
#include "services/coordinator/control/jobs.h"
#include "services/coordinator/watch/watch_pump.h"

namespace paceline {

// JobService on the wire. It decides nothing.
class JobAdmin : public v1::JobService::CallbackService {
 public:
  // All outlive the service's server.
  JobAdmin(Jobs* jobs, Answering* answering, StreamRegistry* streams,
           WatchPump* pump)
      : jobs_(jobs), answering_(answering), streams_(streams), pump_(pump) {}

  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;
  using Empty = google::protobuf::Empty;

  Unary* CreateJob(Context* context, const v1::CreateJobRequest* request,
                   v1::Job* response) override;
  Unary* GetJob(Context* context, const v1::GetJobRequest* request,
                v1::Job* response) override;
  Unary* ListJobs(Context* context, const v1::ListJobsRequest* request,
                  v1::ListJobsResponse* response) override;
  Unary* UpdateJob(Context* context, const v1::UpdateJobRequest* request,
                   v1::Job* response) override;
  Unary* DeleteJob(Context* context, const v1::DeleteJobRequest* request,
                   Empty* response) override;
  Unary* PauseJob(Context* context, const v1::PauseJobRequest* request,
                  v1::Job* response) override;
  Unary* ResumeJob(Context* context, const v1::ResumeJobRequest* request,
                   v1::Job* response) override;
  Unary* CancelJob(Context* context, const v1::CancelJobRequest* request,
                   v1::Job* response) override;
  Unary* SwitchParadigm(Context* context,
                        const v1::SwitchParadigmRequest* request,
                        v1::Job* response) override;
  Unary* RestoreJob(Context* context, const v1::RestoreJobRequest* request,
                    v1::Job* response) override;
  grpc::ServerWriteReactor<v1::WatchJobResponse>* WatchJob(
      Context* context, const v1::WatchJobRequest* request) override;
  Unary* ListDecisions(Context* context,
                       const v1::ListDecisionsRequest* request,
                       v1::ListDecisionsResponse* response) override;
  Unary* ListAccuracyPoints(Context* context,
                            const v1::ListAccuracyPointsRequest* request,
                            v1::ListAccuracyPointsResponse* response) override;
  Unary* GetJobReport(Context* context, const v1::GetJobReportRequest* request,
                      v1::JobReport* response) override;
  Unary* CreateCheckpoint(Context* context,
                          const v1::CreateCheckpointRequest* request,
                          v1::Checkpoint* response) override;
  Unary* GetCheckpoint(Context* context,
                       const v1::GetCheckpointRequest* request,
                       v1::Checkpoint* response) override;
  Unary* ListCheckpoints(Context* context,
                         const v1::ListCheckpointsRequest* request,
                         v1::ListCheckpointsResponse* response) override;
  Unary* DeleteCheckpoint(Context* context,
                          const v1::DeleteCheckpointRequest* request,
                          Empty* response) override;

 private:
  // A call of the method `name`, answered by `method` of the jobs.
  template <typename Request, typename Response, typename Method>
  Unary* Read(absl::string_view name, Context* context, const Request* request,
              Response* response, Method method);
  // One that changes `resource`; `method` is also told who asks, and `more`.
  template <typename Request, typename Response, typename Method,
            typename... More>
  Unary* Change(absl::string_view name, Context* context,
                const Request* request, Response* response,
                const std::string& resource, Method method,
                const More&... more);

  Jobs* const jobs_;
  Answering* const answering_;
  StreamRegistry* const streams_;
  WatchPump* const pump_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_ADMIN_JOB_SERVICE_H_
