#ifndef PACELINE_SERVICES_COORDINATOR_WATCH_JOB_EVENTS_H_
#define PACELINE_SERVICES_COORDINATOR_WATCH_JOB_EVENTS_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/coordinator/watch/event_log.h"

namespace paceline {

// The EventLog of one job, in terms of the API. Thread-safe; its lock is a
// leaf.
class JobEvents {
 public:
  using Cursor = EventLog<v1::WatchJobResponse>::Cursor;

  // `life` must differ between the events of one job in two lives of the
  // coordinator, or after a restoration: places of another are not kept.
  JobEvents(v1::Job job, uint64_t life);

  // An event too, but those who begin see only the latest. With its progress by
  // now.
  void JobChanged(v1::Job job);
  // Tells nothing new to those who have seen the job before.
  void JobRefreshed(v1::Job job);
  // Decision, accuracy, checkpoint.
  void Append(v1::WatchJobResponse event) { log_.Append(std::move(event)); }
  void SetProgress(v1::JobProgress progress);
  // Nothing follows; who watches is told so with `status` at the end.
  void Close(const absl::Status& status) { log_.Close(status); }

  // A place for `resume_token`, which may be empty. One of another life or too
  // old begins with the job as it is. INVALID_ARGUMENT, with the field, if it
  // is no token.
  absl::StatusOr<Cursor> Place(absl::string_view resume_token) const;

  // What comes next there, and moves on; nothing if there is nothing yet.
  std::optional<v1::WatchJobResponse> Next(Cursor& cursor) const;
  // Once everything has been read: how it ended; nothing if it has not.
  std::optional<absl::Status> EndedAt(const Cursor& cursor) const {
    return log_.EndedAt(cursor);
  }

  // As EventLog's.
  uint64_t Subscribe(std::function<void()> changed) {
    return log_.Subscribe(std::move(changed));
  }
  void Unsubscribe(uint64_t subscription) { log_.Unsubscribe(subscription); }
  bool watched() const { return log_.watched(); }

 private:
  EventLog<v1::WatchJobResponse> log_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_WATCH_JOB_EVENTS_H_
