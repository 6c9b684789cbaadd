#ifndef PACELINE_SERVICES_COORDINATOR_WATCH_WATCH_PUMP_H_
#define PACELINE_SERVICES_COORDINATOR_WATCH_WATCH_PUMP_H_

#include <atomic>
#include <deque>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace paceline {

// The thread that reads event logs for the watchers, so that whoever writes to
// a log pays for no watcher more than a place in a queue. Thread-safe.
class WatchPump {
 public:
  // Who has something to read, perhaps.
  class Watcher {
   public:
    virtual ~Watcher() = default;
    // On the pump's thread; must not block.
    virtual void Pump() = 0;

   private:
    friend class WatchPump;
    std::atomic<bool> queued_ = false;
  };

  WatchPump();
  // Watchers that are still queued are forgotten.
  ~WatchPump();
  WatchPump(const WatchPump&) = delete;
  WatchPump& operator=(const WatchPump&) = delete;

  // Calls its Pump() at least once after this, unless it is gone by then. Many
  // posts may come to one call.
  void Post(const std::shared_ptr<Watcher>& watcher);

 private:
  void Run();

  absl::Mutex mu_;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  std::deque<std::weak_ptr<Watcher>> queue_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;  // Last: it uses the above.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_WATCH_WATCH_PUMP_H_
