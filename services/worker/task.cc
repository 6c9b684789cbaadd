#include "services/worker/task.h"

#include <algorithm>
#include <utility>

#include "common/rpc/wire_format.h"
#include "common/status.h"

namespace paceline {

absl::StatusOr<std::unique_ptr<Task>> Task::Prepare(
    const v1::Assignment& assignment, bool evaluator, const TaskHost& host) {
  PACELINE_ASSIGN_OR_RETURN(const DType wire,
                            FromWire(assignment.job().wire()));
  PACELINE_ASSIGN_OR_RETURN(
      auto computation, BuiltinComputation::Create(
                            assignment.job(), HeldAs(wire), evaluator, host));
  return std::make_unique<Task>(assignment, wire, std::move(computation));
}

std::string Task::KeyOf(const v1::JobSpec& job) {
  v1::JobSpec key;
  key.set_model(job.model());
  key.set_data(job.data());
  key.set_batch_size(job.batch_size());
  key.set_micro_batch(job.micro_batch());
  key.set_wire(job.wire());
  key.set_seed(job.seed());
  key.set_precision(job.precision());
  return key.SerializeAsString();
}

void Task::Serve(const v1::Assignment& assignment) { assignment_ = assignment; }

absl::StatusOr<Task*> TaskCache::Get(const v1::Assignment& assignment) {
  const std::string key = Task::KeyOf(assignment.job());
  const auto found = std::ranges::find(entries_, key, &Entry::key);
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
