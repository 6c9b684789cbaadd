#ifndef PACELINE_SERVICES_COORDINATOR_WATCH_JOB_EVENTS_H_
#define PACELINE_SERVICES_COORDINATOR_WATCH_JOB_EVENTS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/coordinator/watch/event_log.h"

namespace paceline {

// An event of a job, and what there was of its history then.
struct WatchedEvent {
  v1::WatchJobResponse response;
  HistoryPlace history;
};

// The EventLog of one job, in terms of the API. Decisions, evaluations and
// checkpoints are appended. It lives as long as the coordinator at most; who
// has watched the job in an earlier life gets from the job's history what was
// missed. Thread-safe; its locks are leaves.
class JobEvents : private EventLog<WatchedEvent> {
 public:
  using EventLog::Close;
  using EventLog::Subscribe;
  using EventLog::Unsubscribe;
  using EventLog::watched;

  // Where one watcher stands. Its owner's alone.
  class Cursor {
   private:
    friend class JobEvents;
    EventLog::Cursor in_log_;
    // Of earlier lives, sent behind the first message; and what the watcher has
    // of the history until they are.
    std::deque<v1::WatchJobResponse> missed_;
    HistoryPlace seen_;
    bool began_ = false;
  };

  // The decisions and accuracy points of the job between these two, oldest
  // first, at most `limit` of either.
  using ReadHistory =
      std::function<absl::StatusOr<std::vector<v1::WatchJobResponse>>(
          const HistoryPlace& after, const HistoryPlace& until, int64_t limit)>;

  // `life` must differ between the events of one job in two lives of the
  // coordinator, or after a restoration. `history`: what there is by now.
  JobEvents(v1::Job job, uint64_t life, const HistoryPlace& history = {});

  void Append(v1::WatchJobResponse event);
  // An event too, but those who begin see only the latest. With its progress by
  // now.
  void JobChanged(v1::Job job);
  // Tells nothing new to those who have seen the job before.
  void JobRefreshed(v1::Job job);
  void SetProgress(v1::JobProgress progress);

  // A place for `resume_token`, which may be empty. One of another life begins
  // with the job as it was when this life began, and goes on with what was
  // missed. One that is too old begins with the job as it is. INVALID_ARGUMENT,
  // with the field, if it is no token; the errors of `read`.
  absl::StatusOr<Cursor> Place(absl::string_view resume_token,
                               const ReadHistory& read) const;

  // What comes next there, and moves on; nothing if there is nothing yet.
  std::optional<v1::WatchJobResponse> Next(Cursor& cursor) const;
  // Once the log is closed and this watcher has read all of it: its status.
  std::optional<absl::Status> EndedAt(const Cursor& cursor) const;

 private:
  WatchedEvent Now(v1::WatchJobResponse response) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(history_mu_);

  const HistoryPlace start_;
  // Held while something is appended, so that it is in the history's order.
  absl::Mutex history_mu_;
  HistoryPlace history_ ABSL_GUARDED_BY(history_mu_);
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_WATCH_JOB_EVENTS_H_
