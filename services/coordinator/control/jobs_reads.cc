// What callers want to see.

#include <utility>

#include "absl/strings/strip.h"
#include "common/status.h"
#include "common/status_details.h"
#include "services/coordinator/control/jobs.h"
#include "services/coordinator/jobs/page_token.h"
#include "services/coordinator/jobs/request_check.h"

namespace paceline {
namespace {

// For what is written beside the calls. A slow disk delays an answer by that.
constexpr absl::Duration kFlushTimeout = absl::Seconds(1);

}  // namespace

absl::StatusOr<std::shared_ptr<JobEvents>> Jobs::WatchJob(
    const v1::WatchJobRequest& request) {
  PACELINE_ASSIGN_OR_RETURN(const JobName name, CheckWatch(request));
  absl::MutexLock lock(&mu_);
  PACELINE_ASSIGN_OR_RETURN(Entry* const entry, Find(name));
  Prepare(*entry);
  return entry->events;
}

absl::StatusOr<v1::ListDecisionsResponse> Jobs::ListDecisions(
    const v1::ListDecisionsRequest& request) const {
  PACELINE_ASSIGN_OR_RETURN(const JobSequencePage wanted, CheckList(request));
  std::string uid;
  {
    absl::MutexLock lock(&mu_);
    PACELINE_ASSIGN_OR_RETURN(const Entry* const entry, Find(wanted.job));
    uid = entry->job.uid();
  }
  // What was decided before the call is in the answer, unless the disk is slow.
  journal_->Flush(kFlushTimeout).IgnoreError();
  PACELINE_ASSIGN_OR_RETURN(
      std::vector<v1::Decision> decisions,
      store_->ListDecisions(uid, wanted.page.after, wanted.page.size + 1));
  v1::ListDecisionsResponse response;
  for (v1::Decision& decision : decisions) {
    if (response.decisions_size() == wanted.page.size) {
      response.set_next_page_token(NextSequenceToken(
          wanted.query, response.decisions().rbegin()->sequence()));
      break;
    }
    *response.add_decisions() = std::move(decision);
  }
  return response;
}

absl::StatusOr<v1::ListAccuracyPointsResponse> Jobs::ListAccuracyPoints(
    const v1::ListAccuracyPointsRequest& request) const {
  PACELINE_ASSIGN_OR_RETURN(const JobSequencePage wanted, CheckList(request));
  std::string uid;
  {
    absl::MutexLock lock(&mu_);
    PACELINE_ASSIGN_OR_RETURN(const Entry* const entry, Find(wanted.job));
    uid = entry->job.uid();
  }
  journal_->Flush(kFlushTimeout).IgnoreError();
  PACELINE_ASSIGN_OR_RETURN(
      const auto points,
      store_->ListAccuracyPoints(uid, wanted.page.after, wanted.page.size + 1));
  v1::ListAccuracyPointsResponse response;
  int64_t last = 0;
  for (const JobStore::NumberedPoint& numbered : points) {
    if (response.accuracy_points_size() == wanted.page.size) {
      response.set_next_page_token(NextSequenceToken(wanted.query, last));
      break;
    }
    *response.add_accuracy_points() = numbered.point;
    last = numbered.sequence;
  }
  return response;
}

absl::StatusOr<v1::JobReport> Jobs::GetJobReport(
    const v1::GetJobReportRequest& request) const {
  PACELINE_ASSIGN_OR_RETURN(const JobName name, CheckGet(request));
  v1::JobReport report;
  absl::MutexLock lock(&mu_);
  PACELINE_ASSIGN_OR_RETURN(const Entry* const entry, Find(name));
  if (entry->active != nullptr) {
    report.set_json(entry->active->run().Report());
  }
  for (const JobReportText& unsaved : entry->unsaved.reports) {
    if (report.json().empty()) report.set_json(unsaved.json);
  }
  if (report.json().empty()) {
    PACELINE_ASSIGN_OR_RETURN(const auto stored,
                              store_->GetReport(entry->job.uid()));
    report.set_json(stored.value_or(""));
  }
  if (report.json().empty()) {
    return WrongState(name.Format(),
                      "has not begun to train yet: wait until it is RUNNING");
  }
  return report;
}

absl::StatusOr<v1::ListWorkersResponse> Jobs::ListWorkers(
    const v1::ListWorkersRequest& request) const {
  PACELINE_ASSIGN_OR_RETURN(const KeyPage wanted, CheckList(request));
  std::vector<v1::Worker> workers;
  for (Fleet::Member& member : fleet_.Members()) {
    workers.push_back(std::move(member.worker));
  }
  PageOf<v1::Worker> page =
      TakePage(std::move(workers), wanted.page, wanted.query,
               [](const v1::Worker& worker) { return worker.name(); });
  v1::ListWorkersResponse response;
  for (v1::Worker& worker : page.items) {
    Measure(worker);
    *response.add_workers() = std::move(worker);
  }
  response.set_next_page_token(page.next_page_token);
  return response;
}

void Jobs::Measure(v1::Worker& worker) const {
  absl::MutexLock lock(&mu_);
  const auto job = entries_.find(worker.job());
  if (job == entries_.end() || job->second.news == nullptr) return;
  const v1::JobProgress progress = job->second.news->progress();
  for (const v1::WorkerProgress& row : progress.workers()) {
    if (row.worker() != absl::StripPrefix(worker.name(), "workers/")) continue;
    worker.set_samples_per_second(row.samples_per_second());
    worker.set_straggler_score(row.straggler_score());
    worker.set_straggler(row.straggler());
  }
}

absl::StatusOr<v1::Worker> Jobs::GetWorker(const std::string& name) const {
  PACELINE_RETURN_IF_ERROR(ParseWorkerName("name", name).status());
  for (Fleet::Member& member : fleet_.Members()) {
    if (member.worker.name() != name) continue;
    Measure(member.worker);
    return member.worker;
  }
  return NotFound(kWorkerType, name);
}

absl::StatusOr<v1::Worker> Jobs::SetDraining(const std::string& name,
                                             bool draining) {
  PACELINE_ASSIGN_OR_RETURN(const std::string worker,
                            ParseWorkerName("name", name));
  PACELINE_RETURN_IF_ERROR(fleet_.SetDraining(worker, draining));
  return GetWorker(name);
}

}  // namespace paceline
