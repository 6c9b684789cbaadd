#ifndef PACELINE_SERVICES_COORDINATOR_WATCH_JOB_EVENTS_H_
#define PACELINE_SERVICES_COORDINATOR_WATCH_JOB_EVENTS_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/coordinator/watch/event_log.h"

namespace paceline {

// The EventLog of one job, in terms of the API. Decisions, evaluations and
// checkpoints are appended. Thread-safe; its lock is a leaf.
class JobEvents : private EventLog<v1::WatchJobResponse> {
 public:
  using EventLog::Append;
  using EventLog::Close;
  using EventLog::Cursor;
  using EventLog::EndedAt;
  using EventLog::Subscribe;
  using EventLog::Unsubscribe;
  using EventLog::watched;

  // `life` must differ between the events of one job in two lives of the
  // coordinator, or after a restoration: places of another are not kept.
  JobEvents(v1::Job job, uint64_t life);

  // An event too, but those who begin see only the latest. With its progress by
  // now.
  void JobChanged(v1::Job job);
  // Tells nothing new to those who have seen the job before.
  void JobRefreshed(v1::Job job);
  void SetProgress(v1::JobProgress progress);

  // A place for `resume_token`, which may be empty. One of another life or too
  // old begins with the job as it is. INVALID_ARGUMENT, with the field, if it
  // is no token.
  absl::StatusOr<Cursor> Place(absl::string_view resume_token) const;

  // What comes next there, and moves on; nothing if there is nothing yet.
  std::optional<v1::WatchJobResponse> Next(Cursor& cursor) const;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_WATCH_JOB_EVENTS_H_
