#ifndef PACELINE_COMMON_WORK_QUEUE_H_
#define PACELINE_COMMON_WORK_QUEUE_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace paceline {

// Threads that do what others may not wait for: gRPC's own threads, of which
// there are two on a small machine, carry every member's heartbeats. One thread
// does its tasks in the order in which they came. Thread-safe.
class WorkQueue {
 public:
  // `threads` of them; at most `waiting_max` tasks wait for one.
  WorkQueue(size_t threads, size_t waiting_max);
  // Ends when all that was submitted has been done.
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // Runs `task` soon. False, without running it, if too many wait.
  bool Submit(std::function<void()> task);

 private:
  void Work();

  const size_t waiting_max_;
  absl::Mutex mu_;
  std::deque<std::function<void()>> waiting_ ABSL_GUARDED_BY(mu_);
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_WORK_QUEUE_H_
