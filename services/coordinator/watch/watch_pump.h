#ifndef PACELINE_SERVICES_COORDINATOR_WATCH_WATCH_PUMP_H_
#define PACELINE_SERVICES_COORDINATOR_WATCH_WATCH_PUMP_H_

#include <atomic>
#include <limits>
#include <memory>

#include "common/work_queue.h"

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

  // Calls its Pump() at least once after this, unless it is gone by then. Many
  // posts may come to one call.
  void Post(const std::shared_ptr<Watcher>& watcher) {
    if (watcher->queued_.exchange(true)) return;
    queue_.Submit([posted = std::weak_ptr<Watcher>(watcher)] {
      const std::shared_ptr<Watcher> present = posted.lock();
      if (present == nullptr) return;
      // Before it reads: what comes from now on posts it again.
      present->queued_ = false;
      present->Pump();
    });
  }

 private:
  WorkQueue queue_{1, std::numeric_limits<size_t>::max()};
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_WATCH_WATCH_PUMP_H_
