#ifndef PACELINE_SERVICES_WORKER_TASK_CACHE_H_
#define PACELINE_SERVICES_WORKER_TASK_CACHE_H_

#include <cstddef>
#include <list>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "services/worker/task.h"

namespace paceline {

// The tasks prepared last, so that an evaluator moves between jobs, and a
// worker comes back to its own, without loading anything. Thread-compatible.
class TaskCache {
 public:
  // Keeps `capacity` tasks, at least 1, of which the one least recently used
  // gives way. `evaluator`: they are an evaluator's.
  TaskCache(size_t capacity, bool evaluator, const TaskHost& host)
      : capacity_(capacity), evaluator_(evaluator), host_(host) {}

  // The task for `assignment`, which it serves from now on; valid up to the
  // next call. Errors of Task::Prepare. Room is made before another task is
  // prepared, so that no more than `capacity` are ever in memory, and fewer if
  // there is not enough of that.
  absl::StatusOr<Task*> Get(const v1::Assignment& assignment);

  // Frees one that Get() returned.
  void Forget(const Task* task);

  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::string key;
    std::unique_ptr<Task> task;
  };

  const size_t capacity_;
  const bool evaluator_;
  const TaskHost host_;
  std::list<Entry> entries_;  // The last one used is at the front.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_TASK_CACHE_H_
