#ifndef PACELINE_SERVICES_WORKER_TASK_H_
#define PACELINE_SERVICES_WORKER_TASK_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/tensor/dtype.h"
#include "gpu/backend.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "services/worker/data/dataset.h"
#include "services/worker/model/model.h"
#include "services/worker/parameter_client.h"

namespace paceline {

// What a job's spec comes to on this machine: the data in memory, the model on
// its backend. A trainer has the training split, an evaluator the test split.
// Thread-compatible.
class Task {
 public:
  // Errors as LoadDataset, MakeBackend and Model::Create give them.
  static absl::StatusOr<std::unique_ptr<Task>> Prepare(
      const v1::JobSpec& job, bool evaluator, const BackendOptions& backend);

  const v1::JobSpec& job() const { return job_; }
  const Dataset& data() const { return *data_; }
  Model& model() { return *model_; }
  DType wire() const { return wire_; }
  absl::Duration lease() const { return absl::Milliseconds(job_.lease_ms()); }

  // What `ready` says of it.
  v1::WorkerReady Ready(bool evaluator) const;

  // The model's arrays, for the parameter client.
  TensorArrays Arrays();

 private:
  Task() = default;

  v1::JobSpec job_;
  DType wire_ = DType::kF32;
  std::optional<Dataset> data_;
  std::unique_ptr<Backend> backend_;
  std::shared_ptr<Model> model_;  // After the backend, which it uses.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_TASK_H_
