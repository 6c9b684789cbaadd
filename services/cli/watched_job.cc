#include "services/cli/watched_job.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/bounded_json.h"
#include "common/check.h"
#include "common/status.h"
#include "services/cli/admin/client.h"
#include "services/cli/plot/real_run.h"

namespace paceline {
namespace {

// The failure that a job's state_reason tells: "DATA_LOSS: w1: the file is
// truncated".
absl::Status WhyFailed(const std::string& reason) {
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(reason, absl::MaxSplits(": ", 1));
  for (int code = 1; code <= 16; ++code) {
    const auto candidate = static_cast<absl::StatusCode>(code);
    if (absl::StatusCodeToString(candidate) == parts.first) {
      return absl::Status(candidate, parts.second);
    }
  }
  return absl::UnknownError(reason);
}

absl::StatusOr<Json> GetTimeline(AdminClient& client, const std::string& job,
                                 const Json& report) {
  v1::ListIterationsRequest request;
  request.set_parent(job);
  PACELINE_ASSIGN_OR_RETURN(
      const v1::ListIterationsResponse listed,
      ListAll(client, &JobsApi::ListIterations, request, 0));
  v1::ListDecisionsRequest decisions_of;
  decisions_of.set_parent(job);
  PACELINE_ASSIGN_OR_RETURN(
      const v1::ListDecisionsResponse decided,
      ListAll(client, &JobsApi::ListDecisions, decisions_of, 0));
  return RealTimeline(report, listed, decided);
}

absl::StatusOr<Json> GetReport(AdminClient& client, const std::string& job,
                               bool wants_timeline) {
  v1::GetJobReportRequest request;
  request.set_name(job);
  PACELINE_ASSIGN_OR_RETURN(const v1::JobReport report,
                            client.Call(&JobsApi::GetJobReport, request));
  Json run = ParseBoundedJson<Json>(report.json());
  if (!run.is_object()) {
    return absl::InternalError("the job's report is no JSON object");
  }
  if (wants_timeline) {
    PACELINE_ASSIGN_OR_RETURN(run["timeline"], GetTimeline(client, job, run));
  }
  return run;
}

}  // namespace

WatchedJob::WatchedJob(std::string address, v1::CreateJobRequest request,
                       bool wants_timeline)
    : address_(std::move(address)),
      request_(std::move(request)),
      wants_timeline_(wants_timeline),
      wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      interruption_(std::make_shared<Interruption>()) {
  CHECK(wake_.get() >= 0);
  thread_ = std::thread([this] {
    absl::StatusOr<Json> report = Watch();
    {
      absl::MutexLock lock(&mu_);
      news_.report = std::move(report);
    }
    Wake();
  });
}

WatchedJob::~WatchedJob() {
  interruption_->Interrupt(SIGTERM);
  thread_.join();
}

JobFeed::News WatchedJob::Read() {
  uint64_t ignored = 0;
  while (read(wake_.get(), &ignored, sizeof(ignored)) > 0) {
  }
  absl::MutexLock lock(&mu_);
  return std::exchange(news_, {});
}

void WatchedJob::Wake() {
  const uint64_t one = 1;
  // It fails only where it would count beyond what nobody reads.
  if (write(wake_.get(), &one, sizeof(one)) < 0) return;
}

absl::StatusOr<Json> WatchedJob::Watch() {
  Connection connection;
  connection.address = address_;
  PACELINE_ASSIGN_OR_RETURN(
      const std::unique_ptr<AdminClient> client,
      AdminClient::Create(std::move(connection), interruption_,
                          [](absl::string_view) {}));
  PACELINE_ASSIGN_OR_RETURN(const v1::Job created,
                            client->Call(&JobsApi::CreateJob, request_));
  JobWatcher watcher(client.get(), created.name());
  while (true) {
    PACELINE_ASSIGN_OR_RETURN(const auto event,
                              watcher.Next(absl::InfiniteFuture()));
    if (!event.has_value()) {
      return absl::InternalError("the job's watch ended before the job");
    }
    {
      absl::MutexLock lock(&mu_);
      news_.events.push_back(*event);
    }
    Wake();
    const v1::Job& job = event->job();
    switch (job.state()) {
      case v1::Job::SUCCEEDED:
        return GetReport(*client, job.name(), wants_timeline_);
      case v1::Job::FAILED:
        return WhyFailed(job.state_reason());
      case v1::Job::CANCELLED:
      case v1::Job::PAUSED:
        return absl::AbortedError(absl::StrCat("the job is ",
                                               v1::Job::State_Name(job.state()),
                                               ": ", job.state_reason()));
      default:
        break;
    }
  }
}

}  // namespace paceline
