#include "services/coordinator/control/folder_task.h"

#include <utility>

namespace paceline {

std::shared_ptr<FolderTask> FolderTask::Begin(
    FolderLanes& lanes, const std::string& lane,
    std::function<absl::Status()> work) {
  auto task = std::make_shared<FolderTask>();
  const absl::Status put =
      lanes.Put(lane, [task, work = std::move(work)] { task->End(work()); });
  if (!put.ok()) task->End(put);
  return task;
}

std::shared_ptr<FolderTask> FolderTask::OfNothing() {
  auto task = std::make_shared<FolderTask>();
  task->End(absl::OkStatus());
  return task;
}

std::optional<absl::Status> FolderTask::outcome() const {
  absl::MutexLock lock(&mu_);
  return outcome_;
}

std::optional<absl::Status> FolderTask::Await(absl::Time deadline) const {
  const auto ended = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return outcome_.has_value();
  };
  absl::MutexLock lock(&mu_);
  mu_.AwaitWithDeadline(absl::Condition(&ended), deadline);
  return outcome_;
}

void FolderTask::End(const absl::Status& outcome) {
  absl::MutexLock lock(&mu_);
  outcome_ = outcome;
}

}  // namespace paceline
