#include "services/parameter_server/disk_worker.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace paceline {

DiskWorker::DiskWorker(size_t max_waiting)
    : max_waiting_(max_waiting), thread_([this] { Work(); }) {}

DiskWorker::~DiskWorker() {
  CancelAll();
  {
    absl::MutexLock lock(&mu_);
    ending_ = true;
  }
  thread_.join();
}

absl::Status DiskWorker::Put(uint64_t run, Task task) {
  absl::MutexLock lock(&mu_);
  if (waiting_.size() >= max_waiting_) {
    return absl::ResourceExhaustedError(
        absl::StrCat(waiting_.size(),
                     " checkpoints wait to be read or written, the most "
                     "allowed: save less often, or to a faster disk"));
  }
  for (const Waiting& other : waiting_) {
    if (other.run != run) continue;
    return absl::FailedPreconditionError(
        "an earlier checkpoint of the job still waits for the disk");
  }
  waiting_.push_back({run, std::move(task)});
  return absl::OkStatus();
}

void DiskWorker::Cancel(uint64_t run) {
  std::vector<Waiting> dropped;  // Destroyed outside the lock.
  absl::MutexLock lock(&mu_);
  const auto kept = std::stable_partition(
      waiting_.begin(), waiting_.end(),
      [run](const Waiting& waiting) { return waiting.run != run; });
  std::move(kept, waiting_.end(), std::back_inserter(dropped));
  waiting_.erase(kept, waiting_.end());
  if (cancel_ != nullptr && running_ == run) cancel_->store(true);
}

void DiskWorker::CancelAll() {
  std::deque<Waiting> dropped;
  absl::MutexLock lock(&mu_);
  dropped.swap(waiting_);
  if (cancel_ != nullptr) cancel_->store(true);
}

bool DiskWorker::idle() const {
  absl::MutexLock lock(&mu_);
  return waiting_.empty() && cancel_ == nullptr;
}

void DiskWorker::Work() {
  while (true) {
    Task task;
    Flag cancel;
    {
      absl::MutexLock lock(&mu_);
      mu_.Await(absl::Condition(this, &DiskWorker::SomethingLocked));
      if (ending_) return;
      task = std::move(waiting_.front().task);
      running_ = waiting_.front().run;
      waiting_.pop_front();
      cancel_ = cancel = std::make_shared<std::atomic<bool>>(false);
    }
    task([cancel] { return cancel->load(); });
    task = nullptr;  // What it holds goes before it counts as done.
    absl::MutexLock lock(&mu_);
    cancel_ = nullptr;
  }
}

}  // namespace paceline
