#ifndef PACELINE_SERVICES_COORDINATOR_RUN_JOURNAL_RUN_LOG_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_JOURNAL_RUN_LOG_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "services/coordinator/feed/standby_feed.h"
#include "services/coordinator/run/journal/run_journal.h"

namespace paceline {

// Events that a coordinator takes in one to two seconds: a run that can go on
// in another one is not to have more of them. One that cannot, for it cannot be
// saved, goes on with its journal: without one it would begin anew.
inline constexpr int64_t kLongJournal = 500'000;

// The journal of a run that goes on, if it has one: a file, and what a standby
// has of it. One that cannot be written is given up, and the log says so: the
// run goes on without. Thread-safe.
class RunLog : public FeedSource {
 public:
  // `feed` outlives it; null: nobody stands by. `fsync`: what is written
  // survives the machine. With more than `most_events` it is long.
  RunLog(std::string job, std::string job_uid, StandbyFeed* feed, bool fsync,
         int64_t most_events = kLongJournal);
  ~RunLog() override;
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

  // A new journal is in that file.
  void Begin(const std::string& path);
  // It goes on with this one, which has so many events.
  void GoOn(std::unique_ptr<RunJournal> journal, int64_t events);

  // Events are to be recorded.
  bool active() const { return active_; }
  void CountEvent() { ++events_; }
  // Another life of the coordinator would take long to read it.
  bool is_long() const { return events_ > most_events_; }

  // True: the records are where they survive this process. False: a standby is
  // to have them first, and `safe` is called then.
  bool Write(absl::string_view records, StandbyFeed::Log::Callback safe);
  // Nobody is to go on with the run.
  void Remove();
  // This life ends, and another one goes on with the run: of what becomes of it
  // here `last` alone is written.
  void Leave(absl::string_view last);
  // Tries again to remove a file that was given up and could not be removed: it
  // lacks what has happened since, and another life of the coordinator would
  // take it for the whole.
  void RemoveRest();

  absl::Status AppendAll(uint64_t following) override;

 private:
  void Start(std::unique_ptr<RunJournal> journal, int64_t events)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // It is written no more.
  void GiveUp() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  v1::JournalChange Change() const;

  const std::string job_;
  const std::string job_uid_;
  StandbyFeed* const feed_;
  const bool fsync_;
  const int64_t most_events_;
  std::atomic<bool> active_ = false;
  std::atomic<int64_t> events_ = 0;
  absl::Mutex mu_;
  // Null once there is no file any more. Not written any more unless active.
  std::unique_ptr<RunJournal> journal_ ABSL_GUARDED_BY(mu_);
  uint64_t following_ ABSL_GUARDED_BY(mu_) = 0;  // To which changes belong.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_JOURNAL_RUN_LOG_H_
