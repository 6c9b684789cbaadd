#include "common/work_queue.h"

#include <utility>

namespace paceline {

WorkQueue::WorkQueue(size_t threads, size_t waiting_max)
    : waiting_max_(waiting_max) {
  for (size_t i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { Work(); });
  }
}

WorkQueue::~WorkQueue() {
  {
    absl::MutexLock lock(&mu_);
    ending_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

bool WorkQueue::Submit(std::function<void()> task) {
  absl::MutexLock lock(&mu_);
  if (waiting_.size() >= waiting_max_) return false;
  waiting_.push_back(std::move(task));
  return true;
}

void WorkQueue::Work() {
  const auto something = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return ending_ || !waiting_.empty();
  };
  while (true) {
    std::function<void()> task;
    {
      absl::MutexLock lock(&mu_);
      mu_.Await(absl::Condition(&something));
      if (waiting_.empty()) return;
      task = std::move(waiting_.front());
      waiting_.pop_front();
    }
    task();
  }
}

}  // namespace paceline
