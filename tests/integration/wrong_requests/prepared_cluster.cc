#include "tests/integration/wrong_requests/prepared_cluster.h"

#include <google/protobuf/text_format.h>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/log/log.h"
#include "common/rpc/channel.h"
#include "protos/paceline/v1/cluster.pb.h"
#include "services/coordinator/watch/event_log.h"
#include "tests/common/security/eventually.h"
#include "tests/integration/generic_call.h"

namespace paceline {
namespace {

constexpr char kDefault[] = "namespaces/default";
constexpr char kCrowded[] = "namespaces/crowded";

// Of an mlp for synthetic:tiny, at 4 bytes each.
constexpr int64_t kBigParameters = 235'146;

// No worker is of that pool.
constexpr char kNowhere[] = "workers { pools: 'nowhere' }";
constexpr char kForEver[] = "workers { max: 1 } stop { epochs: 1000000 }";

std::string JobName(const std::string& id) {
  return absl::StrCat(kDefault, "/jobs/", id);
}

std::vector<std::string> CoordinatorFlags() {
  return {"--lease", "10s", "--max-jobs", "4", "--max-workers", "8",
          "--max-parameter-bytes", absl::StrCat(4 * kBigParameters),
          // A snapshot after every request is more than callers may have.
          "--max-requests", "1000000"};
}

template <class Message>
Message Parsed(const std::string& text) {
  Message message;
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

// The token of an event a thousand events after that of `token`.
std::string FarAfter(const std::string& token) {
  auto place = ParseResumeToken(token);
  CHECK(place.ok());
  place->sequence += 1'000;
  return FormatResumeToken(*place);
}

}  // namespace

PreparedCluster::PreparedCluster()
    : processes_(CoordinatorFlags()),
      channel_(MakeChannel(processes_.address(), ChannelProfile::kControl,
                           absl::Seconds(60))) {
  processes_.Start("paceline-server", "s0", {});
  // Slow enough for a machine that does other things, too.
  processes_.Start("paceline-worker", "w0", {"--step-time", "20ms"});
  processes_.Start("paceline-worker", "w1", {"--step-time", "20ms"});
  MakeEndedJobs();
  MakePausedJobs();
  MakeRunningJobs();
  MakeWaitingJob();
  FindWords();
}

void PreparedCluster::Call(const std::string& method,
                           const google::protobuf::Message& request,
                           google::protobuf::Message* response) const {
  const auto bytes =
      CallGenerically(channel_, absl::StrCat("/paceline.v1.", method),
                      request.SerializeAsString());
  if (!bytes.ok()) {
    LogError(absl::StrCat(method, ": ", bytes.status().ToString()));
  }
  CHECK(bytes.ok() && response->ParseFromString(*bytes));
}

v1::Job PreparedCluster::Create(const std::string& parent,
                                const std::string& id,
                                const std::string& more) const {
  v1::CreateJobRequest request;
  request.set_parent(parent);
  request.set_job_id(id);
  v1::JobSpec& spec = *request.mutable_job()->mutable_spec();
  spec = Parsed<v1::JobSpec>(more);
  if (spec.model().empty()) spec.set_model("logreg");
  spec.set_data("synthetic:tiny");
  spec.mutable_evaluation()->set_disabled(true);
  if (id == "waits") request.set_request_id(kUsedRequestId);
  v1::Job job;
  Call("JobService/CreateJob", request, &job);
  return job;
}

void PreparedCluster::Verb(const std::string& method,
                           const std::string& job) const {
  // The verbs agree in the field of the name.
  v1::PauseJobRequest request;
  request.set_name(JobName(job));
  v1::Job response;
  Call(absl::StrCat("JobService/", method), request, &response);
}

v1::Job PreparedCluster::AwaitState(const std::string& name,
                                    v1::Job::State state) const {
  v1::GetJobRequest request;
  request.set_name(name);
  v1::Job job;
  const bool reached = Eventually([&] {
    Call("JobService/GetJob", request, &job);
    return job.state() == state;
  });
  if (!reached) LogError(job.ShortDebugString());
  CHECK(reached);
  return job;
}

void PreparedCluster::MakeEndedJobs() const {
  AwaitState(Create(kDefault, "done", "workers { max: 1 }").name(),
             v1::Job::SUCCEEDED);
  Create(kDefault, "ended", kNowhere);
  Verb("CancelJob", "ended");
  AwaitState(JobName("ended"), v1::Job::CANCELLED);
}

void PreparedCluster::MakePausedJobs() const {
  Create(kDefault, "fresh", kNowhere);
  Verb("PauseJob", "fresh");
  Create(kDefault, "rests", kForEver);
  AwaitState(JobName("rests"), v1::Job::RUNNING);
  v1::Checkpoint mine;
  Call("JobService/CreateCheckpoint",
       Parsed<v1::CreateCheckpointRequest>(absl::StrCat(
           "parent: '", JobName("rests"), "' checkpoint_id: 'mine'")),
       &mine);
  v1::GetCheckpointRequest get;
  get.set_name(mine.name());
  CHECK(Eventually([&] {
    Call("JobService/GetCheckpoint", get, &mine);
    return mine.state() == v1::Checkpoint::READY;
  }));
  Verb("PauseJob", "rests");
  AwaitState(JobName("rests"), v1::Job::PAUSED);
}

void PreparedCluster::MakeRunningJobs() const {
  Create(kDefault, "runs", absl::StrCat("paradigm: 'bsp' ", kForEver));
  AwaitState(JobName("runs"), v1::Job::RUNNING);
  for (const char* const paradigm : {"asp", "bsp"}) {
    v1::SwitchParadigmRequest request;
    request.set_name(JobName("runs"));
    request.set_paradigm(paradigm);
    v1::Job job;
    Call("JobService/SwitchParadigm", request, &job);
  }
  Create(kCrowded, "big", absl::StrCat("model: 'mlp' ", kForEver));
  const v1::Job big =
      AwaitState(absl::StrCat(kCrowded, "/jobs/big"), v1::Job::RUNNING);
  CHECK(big.progress().parameters() == kBigParameters);
}

void PreparedCluster::MakeWaitingJob() const {
  const std::string name = Create(kDefault, "waits", kNowhere).name();
  v1::GetJobRequest request;
  request.set_name(name);
  v1::Job job;
  // The reason, and with it the etag, changes once the job was looked at.
  CHECK(Eventually([&] {
    Call("JobService/GetJob", request, &job);
    return job.state_reason().find("nowhere") != std::string::npos;
  }));
}

void PreparedCluster::FindWords() {
  processes_.Start("paceline-worker", "w2", {});
  v1::GetWorkerRequest get_worker;
  get_worker.set_name("workers/w2");
  v1::Worker worker;
  CHECK(Eventually([&] {
    return CallGenerically(channel_, "/paceline.v1.ClusterService/DrainWorker",
                           get_worker.SerializeAsString())
        .ok();
  }));
  Call("ClusterService/GetWorker", get_worker, &worker);
  CHECK(worker.state() == v1::Worker::DRAINED);

  v1::GetJobRequest get;
  get.set_name(JobName("rests"));
  v1::Job rests;
  Call("JobService/GetJob", get, &rests);
  words_["pause"] = rests.restore_from();

  v1::ListJobsResponse jobs;
  Call("JobService/ListJobs",
       Parsed<v1::ListJobsRequest>("parent: 'namespaces/default' page_size: 1"),
       &jobs);
  words_["jobs_page"] = jobs.next_page_token();
  v1::ListDecisionsResponse decisions;
  const auto list = Parsed<v1::ListDecisionsRequest>(
      absl::StrCat("parent: '", JobName("runs"), "' page_size: 1"));
  CHECK(Eventually([&] {
    Call("JobService/ListDecisions", list, &decisions);
    return !decisions.next_page_token().empty();
  }));
  words_["decisions_page"] = decisions.next_page_token();
  v1::ListWorkersResponse workers;
  Call("ClusterService/ListWorkers",
       Parsed<v1::ListWorkersRequest>("page_size: 1"), &workers);
  words_["workers_page"] = workers.next_page_token();
  v1::ListAuditRecordsResponse audit;
  Call("ClusterService/ListAuditRecords",
       Parsed<v1::ListAuditRecordsRequest>("page_size: 1"), &audit);
  words_["audit_page"] = audit.next_page_token();
  v1::WatchJobRequest watch;
  watch.set_name(JobName("runs"));
  v1::WatchJobResponse event;
  Call("JobService/WatchJob", watch, &event);
  words_["resume_future"] = FarAfter(event.resume_token());
}

}  // namespace paceline
