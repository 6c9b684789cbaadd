#include "services/coordinator/admin/job_service.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/rpc/server_stream.h"
#include "common/status.h"
#include "common/trace_context.h"
#include "services/coordinator/watch/watch_stream.h"

namespace paceline {
namespace {

constexpr char kService[] = "/paceline.v1.JobService/";

// That of the call's metadata; empty if it has none, or one that is none.
std::string TraceparentOf(const grpc::CallbackServerContext& context) {
  const auto found = context.client_metadata().find("traceparent");
  if (found == context.client_metadata().end()) return "";
  return CutTraceparent({found->second.data(), found->second.size()});
}

}  // namespace

template <typename Request, typename Response, typename Method>
JobAdmin::Unary* JobAdmin::Read(absl::string_view name, Context* context,
                                const Request* request, Response* response,
                                Method method) {
  return answering_->Read(context, absl::StrCat(kService, name), response,
                          [jobs = jobs_, request, method](const Caller&) {
                            return (jobs->*method)(*request);
                          });
}

template <typename Request, typename Response, typename Method,
          typename... More>
JobAdmin::Unary* JobAdmin::Change(absl::string_view name, Context* context,
                                  const Request* request, Response* response,
                                  const std::string& resource, Method method,
                                  const More&... more) {
  return answering_->Change(
      context, absl::StrCat(kService, name), resource, response,
      [jobs = jobs_, request, method, more...](const Caller& caller) {
        return (jobs->*method)(*request, caller.identity, more...);
      });
}

JobAdmin::Unary* JobAdmin::GetJob(Context* context,
                                  const v1::GetJobRequest* request,
                                  v1::Job* response) {
  return Read("GetJob", context, request, response, &Jobs::GetJob);
}

JobAdmin::Unary* JobAdmin::ListJobs(Context* context,
                                    const v1::ListJobsRequest* request,
                                    v1::ListJobsResponse* response) {
  return Read("ListJobs", context, request, response, &Jobs::ListJobs);
}

JobAdmin::Unary* JobAdmin::ListDecisions(
    Context* context, const v1::ListDecisionsRequest* request,
    v1::ListDecisionsResponse* response) {
  return Read("ListDecisions", context, request, response,
              &Jobs::ListDecisions);
}

JobAdmin::Unary* JobAdmin::ListAccuracyPoints(
    Context* context, const v1::ListAccuracyPointsRequest* request,
    v1::ListAccuracyPointsResponse* response) {
  return Read("ListAccuracyPoints", context, request, response,
              &Jobs::ListAccuracyPoints);
}

JobAdmin::Unary* JobAdmin::GetJobReport(Context* context,
                                        const v1::GetJobReportRequest* request,
                                        v1::JobReport* response) {
  return Read("GetJobReport", context, request, response, &Jobs::GetJobReport);
}

JobAdmin::Unary* JobAdmin::GetCheckpoint(
    Context* context, const v1::GetCheckpointRequest* request,
    v1::Checkpoint* response) {
  return Read("GetCheckpoint", context, request, response,
              &Jobs::GetCheckpoint);
}

JobAdmin::Unary* JobAdmin::ListCheckpoints(
    Context* context, const v1::ListCheckpointsRequest* request,
    v1::ListCheckpointsResponse* response) {
  return Read("ListCheckpoints", context, request, response,
              &Jobs::ListCheckpoints);
}

JobAdmin::Unary* JobAdmin::CreateJob(Context* context,
                                     const v1::CreateJobRequest* request,
                                     v1::Job* response) {
  return Change("CreateJob", context, request, response,
                absl::StrCat(request->parent(), "/jobs/", request->job_id()),
                &Jobs::CreateJob, TraceparentOf(*context));
}

JobAdmin::Unary* JobAdmin::UpdateJob(Context* context,
                                     const v1::UpdateJobRequest* request,
                                     v1::Job* response) {
  return Change("UpdateJob", context, request, response, request->job().name(),
                &Jobs::UpdateJob);
}

JobAdmin::Unary* JobAdmin::PauseJob(Context* context,
                                    const v1::PauseJobRequest* request,
                                    v1::Job* response) {
  return Change("PauseJob", context, request, response, request->name(),
                &Jobs::PauseJob);
}

JobAdmin::Unary* JobAdmin::ResumeJob(Context* context,
                                     const v1::ResumeJobRequest* request,
                                     v1::Job* response) {
  return Change("ResumeJob", context, request, response, request->name(),
                &Jobs::ResumeJob, TraceparentOf(*context));
}

JobAdmin::Unary* JobAdmin::CancelJob(Context* context,
                                     const v1::CancelJobRequest* request,
                                     v1::Job* response) {
  return Change("CancelJob", context, request, response, request->name(),
                &Jobs::CancelJob);
}

JobAdmin::Unary* JobAdmin::SwitchParadigm(
    Context* context, const v1::SwitchParadigmRequest* request,
    v1::Job* response) {
  return Change("SwitchParadigm", context, request, response, request->name(),
                &Jobs::SwitchParadigm);
}

JobAdmin::Unary* JobAdmin::RestoreJob(Context* context,
                                      const v1::RestoreJobRequest* request,
                                      v1::Job* response) {
  return Change("RestoreJob", context, request, response, request->name(),
                &Jobs::RestoreJob, TraceparentOf(*context));
}

JobAdmin::Unary* JobAdmin::CreateCheckpoint(
    Context* context, const v1::CreateCheckpointRequest* request,
    v1::Checkpoint* response) {
  return Change("CreateCheckpoint", context, request, response,
                absl::StrCat(request->parent(), "/checkpoints/",
                             request->checkpoint_id()),
                &Jobs::CreateCheckpoint);
}

JobAdmin::Unary* JobAdmin::DeleteJob(Context* context,
                                     const v1::DeleteJobRequest* request,
                                     Empty* response) {
  return answering_->Change(
      context, absl::StrCat(kService, "DeleteJob"), request->name(), response,
      [=, this](const Caller&) { return jobs_->DeleteJob(*request); });
}

JobAdmin::Unary* JobAdmin::DeleteCheckpoint(
    Context* context, const v1::DeleteCheckpointRequest* request,
    Empty* response) {
  return answering_->Change(
      context, absl::StrCat(kService, "DeleteCheckpoint"), request->name(),
      response,
      [=, this](const Caller&) { return jobs_->DeleteCheckpoint(*request); });
}

grpc::ServerWriteReactor<v1::WatchJobResponse>* JobAdmin::WatchJob(
    Context* context, const v1::WatchJobRequest* request) {
  const auto admit = [&]() -> absl::StatusOr<StreamTicket> {
    CallGuard& guard = answering_->guard();
    PACELINE_ASSIGN_OR_RETURN(
        const Caller caller,
        guard.Admit(*context, absl::StrCat(kService, "WatchJob")));
    return guard.OpenStream(caller);
  };
  absl::StatusOr<StreamTicket> ticket = admit();
  if (!ticket.ok()) {
    using Watch = grpc::ServerWriteReactor<v1::WatchJobResponse>;
    return new RefusedCall<Watch>(Answering::Explained(ticket.status()));
  }
  // Kept alive by the registry, and by the local reference until it is there.
  const auto stream = std::make_shared<WatchStream>(*std::move(ticket), pump_);
  stream->Begin(streams_);
  // Whoever holds the jobs may wait for the disk: not on gRPC's threads.
  const auto open = [jobs = jobs_, stream,
                     wanted = *request]() -> absl::Status {
    PACELINE_ASSIGN_OR_RETURN(auto events, jobs->WatchJob(wanted));
    PACELINE_ASSIGN_OR_RETURN(const JobEvents::Cursor place,
                              events->Place(wanted.resume_token()));
    stream->Open(std::move(events), place);
    return absl::OkStatus();
  };
  const absl::Status submitted = answering_->Submit([open, stream] {
    const absl::Status opened = open();
    if (!opened.ok()) stream->Close(Answering::Explained(opened));
  });
  if (!submitted.ok()) stream->Close(Answering::Explained(submitted));
  return stream.get();
}

}  // namespace paceline
