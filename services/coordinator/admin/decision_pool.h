#ifndef PACELINE_SERVICES_COORDINATOR_ADMIN_DECISION_POOL_H_
#define PACELINE_SERVICES_COORDINATOR_ADMIN_DECISION_POOL_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace paceline {

// Threads for what callers of the admin API ask: it may wait for the store, and
// gRPC's own threads, of which there are two on a small machine, carry every
// member's heartbeats. Thread-safe.
class DecisionPool {
 public:
  // `threads` of them; at most `waiting_max` tasks wait for one.
  DecisionPool(size_t threads, size_t waiting_max);
  // Does what was submitted.
  ~DecisionPool();
  DecisionPool(const DecisionPool&) = delete;
  DecisionPool& operator=(const DecisionPool&) = delete;

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

#endif  // PACELINE_SERVICES_COORDINATOR_ADMIN_DECISION_POOL_H_
