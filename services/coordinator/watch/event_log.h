#ifndef PACELINE_SERVICES_COORDINATOR_WATCH_EVENT_LOG_H_
#define PACELINE_SERVICES_COORDINATOR_WATCH_EVENT_LOG_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace paceline {

// How much there is of what is kept of a job for ever, by its own numbers.
struct HistoryPlace {
  int64_t decisions = 0;
  int64_t points = 0;  // Of its accuracy.

  friend bool operator==(const HistoryPlace&, const HistoryPlace&) = default;
};

// Where a watcher stands in one life of one event log, and what it has of the
// job's history, which outlives the log.
struct WatchPlace {
  std::string instance;   // The log's; not empty.
  uint64_t sequence = 0;  // The last event that was seen has it.
  HistoryPlace history = {};

  friend bool operator==(const WatchPlace&, const WatchPlace&) = default;
};

// Opaque to clients: printable, without anything that a shell or a URL minds.
std::string FormatResumeToken(const WatchPlace& place);

// INVALID_ARGUMENT if FormatResumeToken() never gave it.
absl::StatusOr<WatchPlace> ParseResumeToken(absl::string_view token);

// What happens to one job, for any number of watchers, each of which reads at
// its own pace from where it stands: nobody is waited for, and a watcher costs
// nothing but its cursor.
//
// A watcher gets the job as it is, unless it resumes; then every event in
// order; and between two events the latest progress, if it is newer than the
// last it has got. One that falls behind by more events than are kept gets the
// job as it is then, and goes on from there. After Close() everybody still gets
// all of it, then the status of the end.
//
// `Message` is copied once when it is written and shared from then on. Nothing
// of gRPC or Protobuf, so that ThreadSanitizer means something. Thread-safe.
template <class Message>
class EventLog {
 public:
  using Shared = std::shared_ptr<const Message>;

  static constexpr size_t kKept = 1000;

  // Where one watcher stands. Its owner's alone.
  class Cursor {
   private:
    friend class EventLog;
    bool snapshot_due_ = true;
    bool from_start_ = false;     // With the job as it was then.
    uint64_t seen_ = 0;           // The last event.
    uint64_t progress_seen_ = 0;  // The last progress.
  };

  // What a watcher reads.
  struct Reading {
    Shared message;
    uint64_t sequence = 0;  // Of the last event that the watcher has then.
    // With the job as it is: the latest progress, if it came after that, which
    // is read with it.
    Shared progress;
    // With the job as it is: the last event so far; null: there was none.
    Shared last;
  };

  // `instance`: names this life of this log among all logs that there were and
  // will be, so that a token of another one is known as such: the job's uid and
  // something drawn at random, say. `job`: the job as it is.
  EventLog(absl::string_view instance, Message job)
      : instance_(instance), first_(Share(std::move(job))), job_(first_) {}

  const std::string& instance() const { return instance_; }

  // Everything below is dropped after Close().

  // The job has changed: it is an event, and the job as it is from now on, with
  // its progress: an earlier one is older.
  void SetJob(Message job) {
    const Shared shared = Share(std::move(job));
    Change([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      job_ = shared;
      job_has_progress_ = progress_number_;
      Add(shared);
    });
  }

  // The job as it is from now on, for those who begin; no event.
  void RefreshJob(Message job) {
    const Shared shared = Share(std::move(job));
    Change([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      job_ = shared;
      job_has_progress_ = progress_number_;
    });
  }

  void Append(Message event) {
    const Shared shared = Share(std::move(event));
    Change([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { Add(shared); });
  }

  // Stands for every earlier progress: those who have not read it will not.
  void SetProgress(Message progress) {
    const Shared shared = Share(std::move(progress));
    Change([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      progress_ = shared;
      ++progress_number_;
      progress_after_ = last_;
    });
  }

  // Nothing more happens. The first status wins.
  void Close(const absl::Status& status) {
    Change([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { closed_ = status; });
  }

  // Before the first event, with the job as it was then; or, if not all events
  // are kept any more, with the job as it is.
  static Cursor AtStart() {
    Cursor cursor;
    cursor.from_start_ = true;
    return cursor;
  }

  // Behind the last event that was seen at a place in this log.
  // INVALID_ARGUMENT if that has not happened.
  absl::StatusOr<Cursor> Behind(const WatchPlace& place) const {
    Cursor cursor;
    absl::MutexLock lock(&mu_);
    if (place.sequence > last_) {
      return absl::InvalidArgumentError(
          "is of an event that has not happened; leave it out to begin with "
          "the job as it is");
    }
    cursor.snapshot_due_ = false;
    cursor.seen_ = place.sequence;
    return cursor;
  }

  // The next thing for this watcher; nothing if there is nothing yet.
  std::optional<Reading> Next(Cursor& cursor) const {
    Reading reading;
    absl::MutexLock lock(&mu_);
    if (!Advance(cursor, reading)) return std::nullopt;
    reading.sequence = cursor.seen_;
    return reading;
  }

  // Once the log is closed and this watcher has read all of it: its status.
  std::optional<absl::Status> EndedAt(const Cursor& cursor) const {
    absl::MutexLock lock(&mu_);
    const bool all_read = !cursor.snapshot_due_ && cursor.seen_ == last_ &&
                          cursor.progress_seen_ == progress_number_;
    return all_read ? closed_ : std::nullopt;
  }

  // Calls `changed` after every change, on the thread that made it and without
  // the log's lock, so it may read; it must not block. Returns a number for
  // Unsubscribe(), after which one call may still be under way.
  uint64_t Subscribe(std::function<void()> changed) {
    absl::MutexLock lock(&mu_);
    const uint64_t subscription = next_subscription_++;
    subscribers_[subscription] =
        std::make_shared<const std::function<void()>>(std::move(changed));
    return subscription;
  }

  void Unsubscribe(uint64_t subscription) {
    absl::MutexLock lock(&mu_);
    subscribers_.erase(subscription);
  }

  // Whether anybody subscribes.
  bool watched() const {
    absl::MutexLock lock(&mu_);
    return !subscribers_.empty();
  }

 private:
  static Shared Share(Message message) {
    return std::make_shared<const Message>(std::move(message));
  }

  template <class Changing>
  void Change(Changing changing) {
    std::vector<std::shared_ptr<const std::function<void()>>> subscribers;
    {
      absl::MutexLock lock(&mu_);
      if (closed_.has_value()) return;
      changing();
      subscribers.reserve(subscribers_.size());
      for (const auto& [subscription, changed] : subscribers_) {
        subscribers.push_back(changed);
      }
    }
    for (const auto& changed : subscribers) (*changed)();
  }

  void Add(Shared event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    ++last_;
    events_.push_back(std::move(event));
    if (events_.size() > kKept) events_.pop_front();
  }

  // False if there is nothing yet.
  bool Advance(Cursor& cursor, Reading& reading) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const uint64_t first = last_ + 1 - events_.size();
    if (std::exchange(cursor.from_start_, false) && first == 1) {
      cursor.snapshot_due_ = false;
      reading.message = first_;
      return true;
    }
    if (cursor.snapshot_due_ || cursor.seen_ + 1 < first) {
      cursor.snapshot_due_ = false;
      cursor.seen_ = last_;
      cursor.progress_seen_ = progress_number_;
      reading.message = job_;
      if (!events_.empty()) reading.last = events_.back();
      if (progress_number_ > job_has_progress_) reading.progress = progress_;
      return true;
    }
    // In the order of time: not before the events that it came after.
    if (cursor.progress_seen_ < progress_number_ &&
        cursor.seen_ >= progress_after_) {
      cursor.progress_seen_ = progress_number_;
      reading.message = progress_;
      return true;
    }
    if (cursor.seen_ == last_) return false;
    ++cursor.seen_;
    reading.message = events_[cursor.seen_ - first];
    return true;
  }

  const std::string instance_;
  const Shared first_;  // The job as it was at first.
  mutable absl::Mutex mu_;
  Shared job_ ABSL_GUARDED_BY(mu_);
  uint64_t last_ ABSL_GUARDED_BY(mu_) = 0;  // The last event's number, from 1.
  std::deque<Shared> events_ ABSL_GUARDED_BY(mu_);  // Up to the last.
  Shared progress_ ABSL_GUARDED_BY(mu_);
  uint64_t progress_number_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t progress_after_ ABSL_GUARDED_BY(mu_) = 0;  // The event before it.
  // The last progress that `job_` came after.
  uint64_t job_has_progress_ ABSL_GUARDED_BY(mu_) = 0;
  std::optional<absl::Status> closed_ ABSL_GUARDED_BY(mu_);
  uint64_t next_subscription_ ABSL_GUARDED_BY(mu_) = 1;
  std::map<uint64_t, std::shared_ptr<const std::function<void()>>> subscribers_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_WATCH_EVENT_LOG_H_
