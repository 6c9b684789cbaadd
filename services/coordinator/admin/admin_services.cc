#include "services/coordinator/admin/admin_services.h"

#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/field_checks.h"
#include "common/proto_time.h"
#include "common/rpc/server_stream.h"
#include "common/status.h"
#include "common/trace_context.h"
#include "protos/paceline/v1/cluster.grpc.pb.h"
#include "protos/paceline/v1/jobs.grpc.pb.h"
#include "services/coordinator/admin/visible_part.h"
#include "services/coordinator/fleet/log_questions.h"
#include "services/coordinator/jobs/request_check.h"
#include "services/coordinator/jobs/resource_name.h"
#include "services/coordinator/watch/watch_stream.h"

namespace paceline {
namespace {

using Context = grpc::CallbackServerContext;
using Unary = grpc::ServerUnaryReactor;
using Empty = google::protobuf::Empty;

// What a request is about: who may do that is asked, and it is in the audit
// record. Empty: the cluster.
template <typename Request>
std::string ResourceOf(const Request& request) {
  if constexpr (requires { request.name(); }) {
    return request.name();
  } else if constexpr (requires { request.parent(); }) {
    return request.parent();
  } else {
    return "";
  }
}
std::string ResourceOf(const v1::CreateJobRequest& request) {
  return absl::StrCat(request.parent(), "/jobs/", request.job_id());
}
std::string ResourceOf(const v1::UpdateJobRequest& request) {
  return request.job().name();
}
std::string ResourceOf(const v1::CreateCheckpointRequest& request) {
  return absl::StrCat(request.parent(), "/checkpoints/",
                      request.checkpoint_id());
}

// That of the call's metadata; empty if it has none, or one that is none.
std::string TraceparentOf(const Context& context) {
  const auto found = context.client_metadata().find("traceparent");
  if (found == context.client_metadata().end()) return "";
  return CutTraceparent({found->second.data(), found->second.size()});
}

// The calls of the service `Rpc`, each answered by a method of the jobs, or by
// a function that is called with the jobs first. One that reads and has to know
// what the caller may see is also told his namespaces.
template <typename Rpc>
class Calls : public Rpc::CallbackService {
 public:
  Calls(Jobs* jobs, Answering* answering)
      : jobs_(jobs), answering_(answering) {}

 protected:
  static std::string FullName(absl::string_view name) {
    return absl::StrCat("/", Rpc::service_full_name(), "/", name);
  }

  template <typename Request, typename Response, typename Method>
  Unary* Read(absl::string_view name, Context* context, const Request* request,
              Response* response, Method method) {
    return answering_->Read(
        context, FullName(name), *request, ResourceOf(*request), response,
        [jobs = jobs_, request, method](const Caller& caller) {
          if constexpr (std::is_invocable_v<Method, Jobs*, const Request&>) {
            return std::invoke(method, jobs, *request);
          } else {
            return std::invoke(method, jobs, *request, caller.namespaces);
          }
        });
  }

  // A method that asks for more than the request is also told who calls, and
  // `more`.
  template <typename Request, typename Response, typename Method,
            typename... More>
  Unary* Change(absl::string_view name, Context* context,
                const Request* request, Response* response, Method method,
                const More&... more) {
    return answering_->Change(
        context, FullName(name), *request, ResourceOf(*request), response,
        [jobs = jobs_, request, method, more...](const Caller& caller) {
          if constexpr (std::is_invocable_v<Method, Jobs*, const Request&>) {
            return std::invoke(method, jobs, *request);
          } else {
            return std::invoke(method, jobs, *request, caller.identity,
                               more...);
          }
        });
  }

  Jobs* const jobs_;
  Answering* const answering_;
};

class JobService final : public Calls<v1::JobService> {
 public:
  JobService(Jobs* jobs, Answering* answering, StreamRegistry* streams,
             WatchPump* pump)
      : Calls(jobs, answering), streams_(streams), pump_(pump) {}

  Unary* GetJob(Context* context, const v1::GetJobRequest* request,
                v1::Job* response) override {
    return Read("GetJob", context, request, response, &Jobs::GetJob);
  }
  Unary* ListJobs(Context* context, const v1::ListJobsRequest* request,
                  v1::ListJobsResponse* response) override {
    return Read("ListJobs", context, request, response, &Jobs::ListJobs);
  }
  Unary* ListDecisions(Context* context,
                       const v1::ListDecisionsRequest* request,
                       v1::ListDecisionsResponse* response) override {
    return Read("ListDecisions", context, request, response,
                &Jobs::ListDecisions);
  }
  Unary* ListAccuracyPoints(Context* context,
                            const v1::ListAccuracyPointsRequest* request,
                            v1::ListAccuracyPointsResponse* response) override {
    return Read("ListAccuracyPoints", context, request, response,
                &Jobs::ListAccuracyPoints);
  }
  Unary* ListIterations(Context* context,
                        const v1::ListIterationsRequest* request,
                        v1::ListIterationsResponse* response) override {
    return Read("ListIterations", context, request, response,
                &Jobs::ListIterations);
  }
  Unary* GetJobReport(Context* context, const v1::GetJobReportRequest* request,
                      v1::JobReport* response) override {
    return Read("GetJobReport", context, request, response,
                &Jobs::GetJobReport);
  }
  Unary* GetCheckpoint(Context* context,
                       const v1::GetCheckpointRequest* request,
                       v1::Checkpoint* response) override {
    return Read("GetCheckpoint", context, request, response,
                &Jobs::GetCheckpoint);
  }
  Unary* ListCheckpoints(Context* context,
                         const v1::ListCheckpointsRequest* request,
                         v1::ListCheckpointsResponse* response) override {
    return Read("ListCheckpoints", context, request, response,
                &Jobs::ListCheckpoints);
  }
  Unary* ReadCheckpoint(Context* context,
                        const v1::ReadCheckpointRequest* request,
                        v1::ReadCheckpointResponse* response) override {
    return Read("ReadCheckpoint", context, request, response,
                &Jobs::ReadCheckpoint);
  }

  Unary* CreateJob(Context* context, const v1::CreateJobRequest* request,
                   v1::Job* response) override {
    return Change("CreateJob", context, request, response, &Jobs::CreateJob,
                  TraceparentOf(*context));
  }
  Unary* UpdateJob(Context* context, const v1::UpdateJobRequest* request,
                   v1::Job* response) override {
    return Change("UpdateJob", context, request, response, &Jobs::UpdateJob);
  }
  Unary* DeleteJob(Context* context, const v1::DeleteJobRequest* request,
                   Empty* response) override {
    return Change("DeleteJob", context, request, response, &Jobs::DeleteJob);
  }
  Unary* PauseJob(Context* context, const v1::PauseJobRequest* request,
                  v1::Job* response) override {
    return Change("PauseJob", context, request, response, &Jobs::PauseJob);
  }
  Unary* ResumeJob(Context* context, const v1::ResumeJobRequest* request,
                   v1::Job* response) override {
    return Change("ResumeJob", context, request, response, &Jobs::ResumeJob,
                  TraceparentOf(*context));
  }
  Unary* CancelJob(Context* context, const v1::CancelJobRequest* request,
                   v1::Job* response) override {
    return Change("CancelJob", context, request, response, &Jobs::CancelJob);
  }
  Unary* SwitchParadigm(Context* context,
                        const v1::SwitchParadigmRequest* request,
                        v1::Job* response) override {
    return Change("SwitchParadigm", context, request, response,
                  &Jobs::SwitchParadigm);
  }
  Unary* RestoreJob(Context* context, const v1::RestoreJobRequest* request,
                    v1::Job* response) override {
    return Change("RestoreJob", context, request, response, &Jobs::RestoreJob,
                  TraceparentOf(*context));
  }
  Unary* CreateCheckpoint(Context* context,
                          const v1::CreateCheckpointRequest* request,
                          v1::Checkpoint* response) override {
    return Change("CreateCheckpoint", context, request, response,
                  &Jobs::CreateCheckpoint);
  }
  Unary* DeleteCheckpoint(Context* context,
                          const v1::DeleteCheckpointRequest* request,
                          Empty* response) override {
    return Change("DeleteCheckpoint", context, request, response,
                  &Jobs::DeleteCheckpoint);
  }

  grpc::ServerWriteReactor<v1::WatchJobResponse>* WatchJob(
      Context* context, const v1::WatchJobRequest* request) override;

 private:
  StreamRegistry* const streams_;
  WatchPump* const pump_;
};

grpc::ServerWriteReactor<v1::WatchJobResponse>* JobService::WatchJob(
    Context* context, const v1::WatchJobRequest* request) {
  const auto admit = [&]() -> absl::StatusOr<StreamTicket> {
    Caller caller;
    PACELINE_RETURN_IF_ERROR(answering_->Admit(*context, FullName("WatchJob"),
                                               *request, ResourceOf(*request),
                                               caller));
    return answering_->guard().OpenStream(caller);
  };
  absl::StatusOr<StreamTicket> ticket = admit();
  if (!ticket.ok()) {
    using Watch = grpc::ServerWriteReactor<v1::WatchJobResponse>;
    return new RefusedCall<Watch>(Answering::Explained(ticket.status()));
  }
  // Kept alive by the registry, and by the local reference until it is there.
  const auto stream = std::make_shared<WatchStream>(*std::move(ticket), pump_,
                                                    &jobs_->metrics().watchers);
  stream->Begin(streams_);
  // Whoever holds the jobs may wait for the disk: not on gRPC's threads.
  const auto open = [jobs = jobs_, stream,
                     wanted = *request]() -> absl::Status {
    PACELINE_ASSIGN_OR_RETURN(auto events, jobs->WatchJob(wanted));
    PACELINE_ASSIGN_OR_RETURN(
        JobEvents::Cursor place,
        events->Place(wanted.resume_token(), jobs->HistoryOf(wanted.name())));
    stream->Open(std::move(events), std::move(place));
    return absl::OkStatus();
  };
  const absl::Status submitted = answering_->Submit([open, stream] {
    const absl::Status opened = open();
    if (!opened.ok()) stream->Close(Answering::Explained(opened));
  });
  if (!submitted.ok()) stream->Close(Answering::Explained(submitted));
  return stream.get();
}

absl::StatusOr<v1::Cluster> Describe(const JobsOptions& options,
                                     absl::Time started) {
  v1::Cluster cluster;
  cluster.set_version(PACELINE_VERSION);
  const int64_t millis = absl::ToInt64Milliseconds(options.lease);
  cluster.mutable_lease()->set_seconds(millis / 1000);
  cluster.mutable_lease()->set_nanos(
      static_cast<int32_t>(millis % 1000 * 1'000'000));
  *cluster.mutable_start_time() = ToProto(started);
  *cluster.mutable_quota() = options.quota;
  cluster.set_checkpoint_directory(options.checkpoint_root);
  return cluster;
}

// Gives `finish` a `Response` with the lines that come, or why none do.
template <typename Response, typename Finish>
LogQuestions::Answered LinesFor(const Finish& finish) {
  return [finish](absl::StatusOr<LogQuestions::Lines> lines) {
    if (!lines.ok()) return finish(lines.status());
    Response response;
    *response.mutable_lines() = *std::move(lines);
    finish(std::move(response));
  };
}

class ClusterService final : public Calls<v1::ClusterService> {
 public:
  ClusterService(Jobs* jobs, Answering* answering, absl::Time started)
      : Calls(jobs, answering), started_(started) {}

  Unary* GetCluster(Context* context, const v1::GetClusterRequest* request,
                    v1::Cluster* response) override {
    return Read("GetCluster", context, request, response,
                [started = started_](const Jobs* jobs, const auto&) {
                  return Describe(jobs->options(), started);
                });
  }
  Unary* ListWorkers(Context* context, const v1::ListWorkersRequest* request,
                     v1::ListWorkersResponse* response) override {
    return Read("ListWorkers", context, request, response,
                [](const Jobs* jobs, const v1::ListWorkersRequest& wanted,
                   const Namespaces& visible) {
                  return VisibleTo(visible, jobs->ListWorkers(wanted));
                });
  }
  Unary* GetWorker(Context* context, const v1::GetWorkerRequest* request,
                   v1::Worker* response) override {
    return Read("GetWorker", context, request, response,
                [](const Jobs* jobs, const v1::GetWorkerRequest& wanted,
                   const Namespaces& visible) {
                  return VisibleTo(visible, jobs->GetWorker(wanted.name()));
                });
  }
  Unary* DrainWorker(Context* context, const v1::DrainWorkerRequest* request,
                     v1::Worker* response) override {
    return Change("DrainWorker", context, request, response,
                  [](Jobs* jobs, const v1::DrainWorkerRequest& wanted) {
                    return jobs->SetDraining(wanted.name(), true);
                  });
  }
  Unary* UndrainWorker(Context* context,
                       const v1::UndrainWorkerRequest* request,
                       v1::Worker* response) override {
    return Change("UndrainWorker", context, request, response,
                  [](Jobs* jobs, const v1::UndrainWorkerRequest& wanted) {
                    return jobs->SetDraining(wanted.name(), false);
                  });
  }
  Unary* DrainServer(Context* context, const v1::DrainServerRequest* request,
                     v1::Server* response) override {
    return Change("DrainServer", context, request, response,
                  [](Jobs* jobs, const v1::DrainServerRequest& wanted) {
                    return jobs->SetServerDraining(wanted.name(), true);
                  });
  }
  Unary* UndrainServer(Context* context,
                       const v1::UndrainServerRequest* request,
                       v1::Server* response) override {
    return Change("UndrainServer", context, request, response,
                  [](Jobs* jobs, const v1::UndrainServerRequest& wanted) {
                    return jobs->SetServerDraining(wanted.name(), false);
                  });
  }
  Unary* ListServers(Context* context, const v1::ListServersRequest* request,
                     v1::ListServersResponse* response) override {
    return Read("ListServers", context, request, response,
                [](const Jobs* jobs, const v1::ListServersRequest& wanted,
                   const Namespaces& visible) {
                  return VisibleTo(visible, jobs->ListServers(wanted));
                });
  }
  Unary* ReadWorkerLog(Context* context,
                       const v1::ReadWorkerLogRequest* request,
                       v1::ReadWorkerLogResponse* response) override {
    return ReadLog("ReadWorkerLog", context, request, response,
                   &ParseWorkerName, &Fleet::AskWorkerForLog);
  }
  Unary* ReadServerLog(Context* context,
                       const v1::ReadServerLogRequest* request,
                       v1::ReadServerLogResponse* response) override {
    return ReadLog("ReadServerLog", context, request, response,
                   &ParseServerName, &Fleet::AskServerForLog);
  }
  Unary* ListAuditRecords(Context* context,
                          const v1::ListAuditRecordsRequest* request,
                          v1::ListAuditRecordsResponse* response) override {
    return Read("ListAuditRecords", context, request, response,
                &Jobs::ListAuditRecords);
  }

 private:
  template <typename Request, typename Response, typename Parse, typename Ask>
  Unary* ReadLog(absl::string_view name, Context* context,
                 const Request* request, Response* response, Parse parse,
                 Ask ask) {
    return answering_->ReadLater(
        context, FullName(name), *request, ResourceOf(*request), response,
        [jobs = jobs_, request, parse, ask](const Caller&, const auto& finish) {
          const absl::StatusOr<std::string> member =
              parse("name", request->name());
          const absl::StatusOr<uint32_t> lines = CheckTail(request->tail());
          FieldChecks checks;
          checks.TakeAll(member.status());
          checks.TakeAll(lines.status());
          if (!checks.status().ok()) return finish(checks.status());
          (jobs->fleet().*ask)(*member, *lines, LinesFor<Response>(finish));
        });
  }

  const absl::Time started_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeJobService(Jobs* jobs, Answering* answering,
                                              StreamRegistry* streams,
                                              WatchPump* pump) {
  return std::make_unique<JobService>(jobs, answering, streams, pump);
}

std::unique_ptr<grpc::Service> MakeClusterService(Jobs* jobs,
                                                  Answering* answering,
                                                  absl::Time started) {
  return std::make_unique<ClusterService>(jobs, answering, started);
}

}  // namespace paceline
