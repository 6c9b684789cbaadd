#include "services/coordinator/watch/job_events.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "common/status_details.h"

namespace paceline {
namespace {

// The instance in tokens of who has not yet got all that was missed.
constexpr char kEarlierLife[] = "-";

v1::WatchJobResponse Event(v1::Job job) {
  v1::WatchJobResponse event;
  *event.mutable_job() = std::move(job);
  return event;
}

void Count(const v1::WatchJobResponse& event, HistoryPlace& history) {
  if (event.has_decision()) history.decisions = event.decision().sequence();
  if (event.has_accuracy()) ++history.points;
}

}  // namespace

JobEvents::JobEvents(v1::Job job, uint64_t life, const HistoryPlace& history)
    : EventLog(absl::StrCat(absl::Hex(life)), {Event(std::move(job)), history}),
      start_(history),
      history_(history) {}

WatchedEvent JobEvents::Now(v1::WatchJobResponse response) const {
  return {std::move(response), history_};
}

void JobEvents::Append(v1::WatchJobResponse event) {
  absl::MutexLock lock(&history_mu_);
  Count(event, history_);
  EventLog::Append(Now(std::move(event)));
}

void JobEvents::JobChanged(v1::Job job) {
  absl::MutexLock lock(&history_mu_);
  SetJob(Now(Event(std::move(job))));
}

void JobEvents::JobRefreshed(v1::Job job) {
  absl::MutexLock lock(&history_mu_);
  RefreshJob(Now(Event(std::move(job))));
}

void JobEvents::SetProgress(v1::JobProgress progress) {
  v1::WatchJobResponse event;
  *event.mutable_progress() = std::move(progress);
  absl::MutexLock lock(&history_mu_);
  EventLog::SetProgress(Now(std::move(event)));
}

absl::StatusOr<JobEvents::Cursor> JobEvents::Place(
    absl::string_view resume_token, const ReadHistory& read) const {
  Cursor cursor;
  if (resume_token.empty()) return cursor;
  const auto place = ParseResumeToken(resume_token);
  if (!place.ok()) {
    return InvalidField("resume_token", place.status().message());
  }
  if (place->instance == instance()) {
    auto in_log = Behind(*place);
    if (!in_log.ok()) {
      return InvalidField("resume_token", in_log.status().message());
    }
    cursor.in_log_ = *std::move(in_log);
    return cursor;
  }
  // One more than are kept: then it is too old.
  const auto limit = static_cast<int64_t>(kKept);
  PACELINE_ASSIGN_OR_RETURN(auto missed,
                            read(place->history, start_, limit + 1));
  if (missed.size() > kKept) return cursor;
  cursor.in_log_ = AtStart();
  cursor.missed_ = {std::make_move_iterator(missed.begin()),
                    std::make_move_iterator(missed.end())};
  cursor.seen_ = place->history;
  return cursor;
}

std::optional<v1::WatchJobResponse> JobEvents::Next(Cursor& cursor) const {
  if (std::exchange(cursor.began_, true) && !cursor.missed_.empty()) {
    v1::WatchJobResponse response = std::move(cursor.missed_.front());
    cursor.missed_.pop_front();
    Count(response, cursor.seen_);
    response.set_resume_token(FormatResumeToken(
        cursor.missed_.empty() ? WatchPlace{instance(), 0, start_}
                               : WatchPlace{kEarlierLife, 0, cursor.seen_}));
    return response;
  }
  auto reading = EventLog::Next(cursor.in_log_);
  if (!reading.has_value()) return std::nullopt;
  v1::WatchJobResponse response = reading->message->response;
  const WatchedEvent& until =
      reading->last != nullptr ? *reading->last : *reading->message;
  response.set_resume_token(FormatResumeToken(
      cursor.missed_.empty()
          ? WatchPlace{instance(), reading->sequence, until.history}
          : WatchPlace{kEarlierLife, 0, cursor.seen_}));
  // The job as it is has its present progress, too.
  if (reading->progress != nullptr) {
    *response.mutable_job()->mutable_progress() =
        reading->progress->response.progress();
  }
  return response;
}

std::optional<absl::Status> JobEvents::EndedAt(const Cursor& cursor) const {
  if (!cursor.missed_.empty()) return std::nullopt;
  return EventLog::EndedAt(cursor.in_log_);
}

}  // namespace paceline
