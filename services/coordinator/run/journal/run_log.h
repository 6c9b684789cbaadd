#ifndef PACELINE_SERVICES_COORDINATOR_RUN_JOURNAL_RUN_LOG_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_JOURNAL_RUN_LOG_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "services/coordinator/run/journal/run_journal.h"

namespace paceline {

// The journal of a run that goes on, if it has one. One that cannot be written
// is given up, and the log says so: the run goes on without. Thread-safe.
class RunLog {
 public:
  explicit RunLog(std::string job) : job_(std::move(job)) {}

  // A new journal is in that file.
  void Begin(const std::string& path);
  // It goes on with this one, which has so many events.
  void GoOn(std::unique_ptr<RunJournal> journal, int64_t events);

  // Events are to be recorded.
  bool active() const { return active_; }
  void CountEvent() { ++events_; }
  // Another life of the coordinator would take long to read it.
  bool is_long() const { return events_ > kLong; }

  void Write(absl::string_view records);
  // Nobody is to go on with the run.
  void Remove();

 private:
  // Events that a coordinator takes in about a second.
  static constexpr int64_t kLong = 500'000;

  const std::string job_;
  std::atomic<bool> active_ = false;
  std::atomic<int64_t> events_ = 0;
  absl::Mutex mu_;
  std::unique_ptr<RunJournal> journal_ ABSL_GUARDED_BY(mu_);  // Or null.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_JOURNAL_RUN_LOG_H_
