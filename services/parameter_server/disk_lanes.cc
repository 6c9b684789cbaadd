#include "services/parameter_server/disk_lanes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace paceline {
namespace {

// That of the coordinator, one to fall back on, and what people name: each
// costs a thread.
constexpr size_t kMostLanes = 8;

}  // namespace

absl::Status DiskLanes::Put(const std::string& folder, uint64_t run,
                            DiskWorker::Task task) {
  absl::MutexLock lock(&mu_);
  auto lane = lanes_.find(folder);
  if (lane == lanes_.end() && lanes_.size() >= kMostLanes) {
    const auto idle =
        std::find_if(lanes_.begin(), lanes_.end(),
                     [](const auto& it) { return it.second->idle(); });
    if (idle == lanes_.end()) {
      return absl::ResourceExhaustedError(
          absl::StrCat("checkpoints are being read or written in ",
                       lanes_.size(), " other folders, the most allowed"));
    }
    lanes_.erase(idle);
  }
  if (lane == lanes_.end()) {
    lane = lanes_.emplace(folder, std::make_unique<DiskWorker>(max_waiting_))
               .first;
  }
  return lane->second->Put(run, std::move(task));
}

void DiskLanes::Cancel(uint64_t run) {
  absl::MutexLock lock(&mu_);
  for (const auto& [folder, lane] : lanes_) lane->Cancel(run);
}

void DiskLanes::CancelAll() {
  absl::MutexLock lock(&mu_);
  for (const auto& [folder, lane] : lanes_) lane->CancelAll();
}

bool DiskLanes::idle() const {
  absl::MutexLock lock(&mu_);
  return std::all_of(lanes_.begin(), lanes_.end(),
                     [](const auto& lane) { return lane.second->idle(); });
}

}  // namespace paceline
