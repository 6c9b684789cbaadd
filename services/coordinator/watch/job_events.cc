#include "services/coordinator/watch/job_events.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_details.h"

namespace paceline {
namespace {

v1::WatchJobResponse Event(v1::Job job) {
  v1::WatchJobResponse event;
  *event.mutable_job() = std::move(job);
  return event;
}

}  // namespace

JobEvents::JobEvents(v1::Job job, uint64_t life)
    : EventLog(absl::StrCat(absl::Hex(life)), Event(std::move(job))) {}

void JobEvents::JobChanged(v1::Job job) { SetJob(Event(std::move(job))); }

void JobEvents::JobRefreshed(v1::Job job) { RefreshJob(Event(std::move(job))); }

void JobEvents::SetProgress(v1::JobProgress progress) {
  v1::WatchJobResponse event;
  *event.mutable_progress() = std::move(progress);
  EventLog::SetProgress(std::move(event));
}

absl::StatusOr<JobEvents::Cursor> JobEvents::Place(
    absl::string_view resume_token) const {
  auto cursor = Open(resume_token);
  if (!cursor.ok()) {
    return InvalidField("resume_token", cursor.status().message());
  }
  return cursor;
}

std::optional<v1::WatchJobResponse> JobEvents::Next(Cursor& cursor) const {
  auto reading = EventLog::Next(cursor);
  if (!reading.has_value()) return std::nullopt;
  v1::WatchJobResponse response = *reading->message;
  response.set_resume_token(std::move(reading->token));
  // The job as it is has its present progress, too.
  if (reading->progress != nullptr) {
    *response.mutable_job()->mutable_progress() = reading->progress->progress();
  }
  return response;
}

}  // namespace paceline
