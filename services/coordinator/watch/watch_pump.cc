#include "services/coordinator/watch/watch_pump.h"

namespace paceline {

WatchPump::WatchPump() : thread_([this] { Run(); }) {}

WatchPump::~WatchPump() {
  {
    absl::MutexLock lock(&mu_);
    ending_ = true;
  }
  thread_.join();
}

void WatchPump::Post(const std::shared_ptr<Watcher>& watcher) {
  if (watcher->queued_.exchange(true)) return;
  absl::MutexLock lock(&mu_);
  queue_.push_back(watcher);
}

void WatchPump::Run() {
  const auto woken = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return ending_ || !queue_.empty();
  };
  while (true) {
    std::shared_ptr<Watcher> watcher;
    {
      absl::MutexLock lock(&mu_);
      mu_.Await(absl::Condition(&woken));
      if (ending_) return;
      watcher = queue_.front().lock();
      queue_.pop_front();
    }
    if (watcher == nullptr) continue;
    // Before it reads: what comes from now on posts it again.
    watcher->queued_ = false;
    watcher->Pump();
  }
}

}  // namespace paceline
