#include "common/checkpoint/folder_lanes.h"

#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/safetensors/durable_file.h"

namespace paceline {
namespace {

// The coordinator's own, some to fall back on, and what people name: each that
// hangs costs a thread.
constexpr size_t kMostLanes = 16;
// Far more than all jobs of a cluster save or delete at a time.
constexpr size_t kMostWaiting = 10'000;
// So long the end of a process may wait for what is under way.
constexpr absl::Duration kLanesStopPatience = absl::Seconds(1);

}  // namespace

FolderLanes::~FolderLanes() {
  std::deque<Task> dropped;  // Destroyed outside the lock.
  const auto none = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(shared_->mu) {
    return shared_->lanes.empty();
  };
  absl::MutexLock lock(&shared_->mu);
  if (shared_->mu.AwaitWithTimeout(absl::Condition(&none),
                                   kLanesStopPatience)) {
    return;
  }
  for (auto& [folder, waiting] : shared_->lanes) {
    for (Task& task : waiting) dropped.push_back(std::move(task));
    waiting.clear();
  }
}

absl::Status FolderLanes::Put(const std::string& folder, Task task) {
  absl::MutexLock lock(&shared_->mu);
  const auto lane = shared_->lanes.find(folder);
  if (lane != shared_->lanes.end()) {
    if (lane->second.size() >= kMostWaiting) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "too much waits for the disk of ", folder, ", which hangs"));
    }
    lane->second.push_back(std::move(task));
    return absl::OkStatus();
  }
  if (shared_->lanes.size() >= kMostLanes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("files are being written or deleted in ", kMostLanes,
                     " other folders, the most allowed"));
  }
  shared_->lanes[folder].push_back(std::move(task));
  // It ends with the last task, or in a call of the system that does not
  // return.
  std::thread([shared = shared_, folder] { Work(shared, folder); }).detach();
  return absl::OkStatus();
}

void FolderLanes::Work(const std::shared_ptr<Shared>& shared,
                       const std::string& folder) {
  while (true) {
    Task task;
    {
      absl::MutexLock lock(&shared->mu);
      const auto lane = shared->lanes.find(folder);
      if (lane->second.empty()) {
        shared->lanes.erase(lane);
        return;
      }
      task = std::move(lane->second.front());
      lane->second.pop_front();
    }
    task();
  }
}

std::string LaneOf(const std::string& checkpoint_folder) {
  return FolderOf(FolderOf(checkpoint_folder));
}

}  // namespace paceline
