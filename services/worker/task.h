#ifndef PACELINE_SERVICES_WORKER_TASK_H_
#define PACELINE_SERVICES_WORKER_TASK_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/tensor/dtype.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "services/worker/builtin_computation.h"
#include "services/worker/computation.h"

namespace paceline {

// What a job's spec comes to on this machine. It serves one assignment at a
// time. Thread-compatible.
class Task {
 public:
  // For `assignment`, of a built-in model. Errors of
  // BuiltinComputation::Create; INVALID_ARGUMENT also for a wire format that is
  // not known.
  static absl::StatusOr<std::unique_ptr<Task>> Prepare(
      const v1::Assignment& assignment, bool evaluator, const TaskHost& host);

  // Of whatever computes `assignment`.
  Task(const v1::Assignment& assignment, DType wire,
       std::unique_ptr<Computation> computation)
      : assignment_(assignment),
        wire_(wire),
        computation_(std::move(computation)) {}

  // What the preparation depends on: assignments of one key can have one Task
  // after the other.
  static std::string KeyOf(const v1::JobSpec& job);

  // Serves this assignment from now on.
  // REQUIRES: KeyOf() its job is that of the one it was prepared for.
  void Serve(const v1::Assignment& assignment);

  const v1::JobSpec& job() const { return assignment_.job(); }
  uint64_t incarnation() const { return assignment_.incarnation(); }
  uint64_t run() const { return assignment_.run(); }
  absl::Duration lease() const {
    return absl::Milliseconds(assignment_.lease_ms());
  }
  DType wire() const { return wire_; }
  Computation& computation() { return *computation_; }

 private:
  v1::Assignment assignment_;
  const DType wire_;
  const std::unique_ptr<Computation> computation_;
};

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

#endif  // PACELINE_SERVICES_WORKER_TASK_H_
