#include "services/coordinator/admin/job_service.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/rpc/grpc_status.h"
#include "common/status.h"
#include "common/trace_context.h"
#include "services/coordinator/watch/watch_stream.h"

namespace paceline {
namespace {

// A watch that was not admitted.
class RefusedWatch : public grpc::ServerWriteReactor<v1::WatchJobResponse> {
 public:
  explicit RefusedWatch(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

// That of the call's metadata; empty if it has none, or one that is none.
std::string TraceparentOf(const grpc::CallbackServerContext& context) {
  const auto found = context.client_metadata().find("traceparent");
  if (found == context.client_metadata().end()) return "";
  return CutTraceparent({found->second.data(), found->second.size()});
}

}  // namespace

#define PACELINE_METHOD(name) "/paceline.v1.JobService/" #name

#define PACELINE_READ(method, Response)                                 \
  JobAdmin::Unary* JobAdmin::method(Context* context,                   \
                                    const v1::method##Request* request, \
                                    v1::Response* response) {           \
    return answering_->Read(                                            \
        context, PACELINE_METHOD(method), response,                     \
        [=, this](const Caller&) { return jobs_->method(*request); });  \
  }

PACELINE_READ(GetJob, Job)
PACELINE_READ(ListJobs, ListJobsResponse)
PACELINE_READ(ListDecisions, ListDecisionsResponse)
PACELINE_READ(ListAccuracyPoints, ListAccuracyPointsResponse)
PACELINE_READ(GetJobReport, JobReport)
PACELINE_READ(GetCheckpoint, Checkpoint)
PACELINE_READ(ListCheckpoints, ListCheckpointsResponse)

#undef PACELINE_READ

// `...`: what the method takes besides.
#define PACELINE_CHANGE(method, Response, resource, ...)                    \
  JobAdmin::Unary* JobAdmin::method(Context* context,                       \
                                    const v1::method##Request* request,     \
                                    v1::Response* response) {               \
    return answering_->Change(                                              \
        context, PACELINE_METHOD(method), resource, response,               \
        [=, this](const Caller& caller) {                                   \
          return jobs_->method(*request,                                    \
                               caller.identity __VA_OPT__(, ) __VA_ARGS__); \
        });                                                                 \
  }

PACELINE_CHANGE(CreateJob, Job,
                absl::StrCat(request->parent(), "/jobs/", request->job_id()),
                TraceparentOf(*context))
PACELINE_CHANGE(UpdateJob, Job, request->job().name())
PACELINE_CHANGE(PauseJob, Job, request->name())
PACELINE_CHANGE(ResumeJob, Job, request->name(), TraceparentOf(*context))
PACELINE_CHANGE(CancelJob, Job, request->name())
PACELINE_CHANGE(SwitchParadigm, Job, request->name())
PACELINE_CHANGE(RestoreJob, Job, request->name(), TraceparentOf(*context))
PACELINE_CHANGE(CreateCheckpoint, Checkpoint,
                absl::StrCat(request->parent(), "/checkpoints/",
                             request->checkpoint_id()))

#undef PACELINE_CHANGE

JobAdmin::Unary* JobAdmin::DeleteJob(Context* context,
                                     const v1::DeleteJobRequest* request,
                                     Empty* response) {
  return answering_->Change(
      context, PACELINE_METHOD(DeleteJob), request->name(), response,
      [=, this](const Caller&) { return jobs_->DeleteJob(*request); });
}

JobAdmin::Unary* JobAdmin::DeleteCheckpoint(
    Context* context, const v1::DeleteCheckpointRequest* request,
    Empty* response) {
  return answering_->Change(
      context, PACELINE_METHOD(DeleteCheckpoint), request->name(), response,
      [=, this](const Caller&) { return jobs_->DeleteCheckpoint(*request); });
}

grpc::ServerWriteReactor<v1::WatchJobResponse>* JobAdmin::WatchJob(
    Context* context, const v1::WatchJobRequest* request) {
  const auto admit = [&]() -> absl::StatusOr<StreamTicket> {
    CallGuard& guard = answering_->guard();
    PACELINE_ASSIGN_OR_RETURN(const Caller caller,
                              guard.Admit(*context, PACELINE_METHOD(WatchJob)));
    return guard.OpenStream(caller);
  };
  absl::StatusOr<StreamTicket> ticket = admit();
  if (!ticket.ok()) {
    return new RefusedWatch(ToGrpc(Answering::Explained(ticket.status())));
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

#undef PACELINE_METHOD

}  // namespace paceline
