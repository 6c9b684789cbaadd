#ifndef PACELINE_SERVICES_WORKER_BUILTIN_COMPUTATION_H_
#define PACELINE_SERVICES_WORKER_BUILTIN_COMPUTATION_H_

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/tensor/dtype.h"
#include "gpu/backend.h"
#include "services/worker/computation.h"
#include "services/worker/data/batch_loader.h"
#include "services/worker/data/data_folder.h"
#include "services/worker/data/dataset.h"
#include "services/worker/replicas/replicated_model.h"

namespace paceline {

// What a machine gives every task.
struct TaskHost {
  std::string device = "cpu";  // The name of its backends.
  // Each one's BackendOptions::device: several compute together.
  std::vector<int> devices = {0};
  BackendOptions backend = {};  // All of them alike, but for that.
  DataPlaces data = {};
};

// A model of ours on its devices, and its data in memory: a trainer's have the
// training split, an evaluator's the test split. An evaluator uses the first
// device alone. `broken` is what a device says.
class BuiltinComputation final : public Computation {
 public:
  // Errors as LoadDataset, MakeBackend and Model::Create give them;
  // INVALID_ARGUMENT also for an impossible batch size or precision. `wire`:
  // what gradients are in memory (HeldAs()) once they come from a device. Where
  // the host sees the device's memory they stay fp32.
  static absl::StatusOr<std::unique_ptr<BuiltinComputation>> Create(
      const v1::JobSpec& job, DType wire, bool evaluator, const TaskHost& host);

  v1::WorkerReady Ready() const override;
  TensorArrays Arrays() override;
  absl::Status Begin(bool initialize) override;
  absl::Status Order(const v1::Grant& grant, const StepOrder& order) override;
  bool takes_parameters_singly() const override;
  void ParameterArrived(size_t tensor) override;
  absl::Status ParametersChanged() override;
  absl::StatusOr<std::optional<StepOutcome>> Compute(StepWatch& watch) override;
  bool extends() const override { return true; }
  absl::Status Extend(const SampleRange& range) override;
  absl::Status Finish() override;
  void Drop() override;
  absl::StatusOr<v1::Evaluated> Evaluate(
      int64_t snapshot, uint32_t samples,
      absl::FunctionRef<bool()> go_on) override;

 private:
  // A transport that still holds a gradient's bytes holds all of it.
  struct Machine {
    std::vector<std::unique_ptr<Backend>> backends;
    // The first backend's, and used by the model's copies until its end.
    std::array<std::unique_ptr<Buffer>, BatchLoader::kSlots> images;
    std::unique_ptr<ReplicatedModel> model;
  };

  BuiltinComputation(uint64_t seed, bool evaluator)
      : seed_(seed), evaluator_(evaluator) {}

  static absl::StatusOr<std::shared_ptr<Machine>> MakeMachine(
      const v1::JobSpec& job, DType wire, const Dataset& data, int batch_max,
      const TaskHost& host, size_t devices);
  ReplicatedModel& model() { return *machine_->model; }
  absl::Status StartLoading();
  // Where a device wants batches to be gathered, if it does.
  BatchLoader::ImageMemory ImageMemory() const;
  // Has the next micro-batch brought to the device. Adds how long it had to be
  // waited for.
  std::optional<MicroBatch> StageNext(absl::Duration& loading);
  void TellObstacle();

  const uint64_t seed_;
  const bool evaluator_;
  std::optional<Dataset> data_;
  std::shared_ptr<Machine> machine_;
  StepOrder order_;
  // Of the step, before the range in hand: the gradients are the mean of them.
  uint32_t done_ = 0;
  double loss_sum_ = 0;
  bool obstacle_told_ = false;
  // Once there is a step. Last: it uses the above.
  std::optional<BatchLoader> loader_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_BUILTIN_COMPUTATION_H_
