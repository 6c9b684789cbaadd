#ifndef PACELINE_SERVICES_PARAMETER_SERVER_DISK_WORKER_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_DISK_WORKER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace paceline {

// One thread that reads and writes files for the runs, so that commands and
// heartbeats never wait for a disk: one task at a time, in the order of their
// coming. Thread-safe.
class DiskWorker {
 public:
  // Once it gives true the task ends as soon as it can. Thread-safe.
  using Cancelled = std::function<bool()>;
  using Task = absl::AnyInvocable<void(const Cancelled& cancelled)>;

  // At most `max_waiting` tasks wait.
  explicit DiskWorker(size_t max_waiting);
  // Cancels everything, and waits for the task that runs.
  ~DiskWorker();
  DiskWorker(const DiskWorker&) = delete;
  DiskWorker& operator=(const DiskWorker&) = delete;

  // RESOURCE_EXHAUSTED if too many tasks wait. FAILED_PRECONDITION if one of
  // the run does: on a disk that hangs, each would hold a copy of its weights.
  absl::Status Put(uint64_t run, Task task);

  // Drops what waits for the run, and cancels its task that runs. Waits for
  // nothing: that task may still finish.
  void Cancel(uint64_t run);
  void CancelAll();

  // Whether nothing runs and nothing waits.
  bool idle() const;

 private:
  using Flag = std::shared_ptr<std::atomic<bool>>;
  struct Waiting {
    uint64_t run;
    Task task;
  };

  void Work();
  bool SomethingLocked() const ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return ending_ || !waiting_.empty();
  }

  const size_t max_waiting_;
  mutable absl::Mutex mu_;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mu_);
  uint64_t running_ ABSL_GUARDED_BY(mu_) = 0;  // Whose task, if cancel_ is set.
  Flag cancel_ ABSL_GUARDED_BY(mu_);           // Ends the task that runs.
  std::thread thread_;                         // Last: it uses the above.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_DISK_WORKER_H_
