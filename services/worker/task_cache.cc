#include "services/worker/task_cache.h"

#include <algorithm>
#include <utility>

#include "common/status.h"

namespace paceline {

absl::StatusOr<Task*> TaskCache::Get(const v1::Assignment& assignment) {
  const std::string key = Task::KeyOf(assignment.job());
  const auto found =
      std::find_if(entries_.begin(), entries_.end(),
                   [&](const Entry& entry) { return entry.key == key; });
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
    entries_.front().task->Serve(assignment);
    return entries_.front().task.get();
  }
  while (entries_.size() >= capacity_) entries_.pop_back();
  auto task = Task::Prepare(assignment, evaluator_, host_);
  if (absl::IsResourceExhausted(task.status()) && !entries_.empty()) {
    // What is kept for later must not be in the way.
    entries_.clear();
    task = Task::Prepare(assignment, evaluator_, host_);
  }
  PACELINE_RETURN_IF_ERROR(task.status());
  entries_.push_front({key, *std::move(task)});
  return entries_.front().task.get();
}

void TaskCache::Forget(const Task* task) {
  entries_.remove_if(
      [task](const Entry& entry) { return entry.task.get() == task; });
}

}  // namespace paceline
