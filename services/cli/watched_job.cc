#include "services/cli/watched_job.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "absl/strings/str_split.h"
#include "common/bounded_json.h"
#include "common/check.h"
#include "common/status.h"
#include "services/cli/admin/job_watcher.h"

namespace paceline {
namespace {

ProgressReport ToReport(const v1::JobProgress& progress) {
  ProgressReport report;
  report.seconds = progress.seconds();
  report.state = progress.phase();
  report.samples = progress.samples();
  report.samples_total = progress.samples_total();
  report.samples_per_second = progress.samples_per_second();
  report.version = progress.version();
  if (progress.has_loss()) report.loss = progress.loss();
  if (progress.has_accuracy()) report.accuracy = progress.accuracy();
  for (const v1::WorkerProgress& worker : progress.workers()) {
    report.workers.push_back({.worker = worker.worker(),
                              .state = worker.state(),
                              .clock = worker.clock(),
                              .gap = worker.gap(),
                              .wait_seconds = worker.wait_seconds(),
                              .iterations = worker.iterations()});
  }
  return report;
}

// Of a job that has failed: "DATA_LOSS: w1: the file is truncated".
absl::Status WhyFailed(const std::string& reason) {
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(reason, absl::MaxSplits(": ", 1));
  const absl::StatusCode code = StatusCodeByName(parts.first);
  if (code == absl::StatusCode::kUnknown) return absl::UnknownError(reason);
  return absl::Status(code, parts.second);
}

}  // namespace

WatchedJob::WatchedJob(std::string address, v1::CreateJobRequest request)
    : address_(std::move(address)),
      request_(std::move(request)),
      wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  CHECK(wake_.get() >= 0);
  auto waker = Waker::WithoutSignals();
  CHECK(waker.ok());
  waker_ = *std::move(waker);
  thread_ = std::thread([this] { Run(); });
}

WatchedJob::~WatchedJob() {
  waker_->Interrupt(SIGTERM);
  thread_.join();
}

std::vector<Report> WatchedJob::Read() {
  uint64_t ignored = 0;
  while (read(wake_.get(), &ignored, sizeof(ignored)) > 0) {
  }
  absl::MutexLock lock(&mu_);
  return std::exchange(reports_, {});
}

void WatchedJob::Put(Report report) {
  {
    absl::MutexLock lock(&mu_);
    reports_.push_back(std::move(report));
  }
  const uint64_t one = 1;
  // It fails only where it would count beyond what nobody reads.
  if (write(wake_.get(), &one, sizeof(one)) < 0) return;
}

void WatchedJob::Run() {
  const absl::Status status = Watch();
  if (!status.ok()) Put(FailedReport{status});
}

absl::Status WatchedJob::Watch() {
  Connection connection;
  connection.address = address_;
  PACELINE_ASSIGN_OR_RETURN(const std::unique_ptr<AdminClient> client,
                            AdminClient::Create(std::move(connection), waker_,
                                                [](absl::string_view) {}));
  PACELINE_ASSIGN_OR_RETURN(const v1::Job job,
                            client->Call(&JobsApi::CreateJob, request_));
  JobWatcher watcher(client.get(), job.name());
  while (true) {
    PACELINE_ASSIGN_OR_RETURN(const auto event,
                              watcher.Next(absl::InfiniteFuture()));
    if (!event.has_value()) {
      return absl::InternalError("the job's watch ended before the job");
    }
    PACELINE_ASSIGN_OR_RETURN(const bool over, Take(*client, *event));
    if (over) return absl::OkStatus();
  }
}

absl::StatusOr<bool> WatchedJob::Take(AdminClient& client,
                                      const v1::WatchJobResponse& event) {
  switch (event.event_case()) {
    case v1::WatchJobResponse::kJob:
      return TakeJob(client, event.job());
    case v1::WatchJobResponse::kProgress:
      Put(ToReport(event.progress()));
      break;
    case v1::WatchJobResponse::kAccuracy:
      Put(EvaluatedReport{.seconds = event.accuracy().seconds(),
                          .version = event.accuracy().version(),
                          .samples = event.accuracy().samples(),
                          .accuracy = event.accuracy().accuracy(),
                          .loss = event.accuracy().loss()});
      break;
    case v1::WatchJobResponse::kDecision:
      // Those are too many for a terminal; `paceline job logs` has them.
      if (event.decision().kind() == "refresh" ||
          event.decision().kind() == "regroup") {
        break;
      }
      Put(DecisionReport{.seconds = event.decision().seconds(),
                         .worker = event.decision().worker(),
                         .text = event.decision().text()});
      break;
    default:
      break;
  }
  return false;
}

absl::StatusOr<bool> WatchedJob::TakeJob(AdminClient& client,
                                         const v1::Job& job) {
  const bool over = job.state() == v1::Job::SUCCEEDED;
  if ((over || job.state() == v1::Job::RUNNING) && !started_) {
    started_ = true;
    Put(StartedReport{.parameters = job.progress().parameters(),
                      .train_samples = job.progress().train_samples()});
  }
  if (job.state() == v1::Job::FAILED) return WhyFailed(job.state_reason());
  if (job.state() == v1::Job::CANCELLED || job.state() == v1::Job::PAUSED) {
    return absl::AbortedError(absl::StrCat("the job is ",
                                           v1::Job::State_Name(job.state()),
                                           ": ", job.state_reason()));
  }
  if (!over) return false;
  v1::GetJobReportRequest request;
  request.set_name(job.name());
  PACELINE_ASSIGN_OR_RETURN(const v1::JobReport report,
                            client.Call(&JobsApi::GetJobReport, request));
  Json run = ParseBoundedJson<Json>(report.json());
  if (!run.is_object()) {
    return absl::InternalError("the job's report is no JSON object");
  }
  Put(ResultReport{std::move(run)});
  return true;
}

}  // namespace paceline
