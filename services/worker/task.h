#ifndef PACELINE_SERVICES_WORKER_TASK_H_
#define PACELINE_SERVICES_WORKER_TASK_H_

#include <array>
#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/tensor/dtype.h"
#include "gpu/backend.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "services/worker/data/batch_loader.h"
#include "services/worker/data/data_folder.h"
#include "services/worker/data/dataset.h"
#include "services/worker/model/model.h"
#include "services/worker/parameter_client.h"

namespace paceline {

// What a machine gives every task.
struct TaskHost {
  std::string device = "cpu";  // The name of its backend.
  BackendOptions backend = {};
  DataPlaces data = {};
};

// What a job's spec comes to on this machine: the data in memory, the model on
// its backend. A trainer has the training split, an evaluator the test split.
// It serves one assignment at a time. Thread-compatible.
class Task {
 public:
  // For `assignment`. Errors as LoadDataset, MakeBackend and Model::Create give
  // them; INVALID_ARGUMENT also for an impossible batch size, wire format or
  // precision.
  static absl::StatusOr<std::unique_ptr<Task>> Prepare(
      const v1::Assignment& assignment, bool evaluator, const TaskHost& host);

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
  const Dataset& data() const { return *data_; }
  Model& model() { return *machine_->model; }

  // Why the device computes no more for this task; OK while it does.
  const absl::Status& device_status() const { return device_status_; }
  // Keeps `status`, one of the model's, if it is the first error; returns it.
  absl::Status FromDevice(const absl::Status& status);

  DType wire() const { return wire_; }

  // What `ready` says of it.
  v1::WorkerReady Ready(bool evaluator) const;

  // Where a device wants batches to be gathered, if it does.
  BatchLoader::ImageMemory ImageMemory() const;

  // The model's arrays, for the parameter client.
  TensorArrays Arrays();

 private:
  // A transport that still holds a gradient's bytes holds all of it.
  struct Machine {
    std::unique_ptr<Backend> backend;
    // Uses the backend, and is used by the model's copies until its end.
    std::array<std::unique_ptr<Buffer>, BatchLoader::kSlots> images;
    std::unique_ptr<Model> model;
  };

  Task() = default;

  v1::Assignment assignment_;
  DType wire_ = DType::kF32;
  std::optional<Dataset> data_;
  std::shared_ptr<Machine> machine_ = std::make_shared<Machine>();
  absl::Status device_status_;
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
