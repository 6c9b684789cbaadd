#include "services/worker/task.h"

#include <utility>

#include "absl/memory/memory.h"
#include "common/micro_batches.h"
#include "common/rpc/wire_format.h"
#include "common/status.h"
#include "services/worker/data/load_dataset.h"
#include "services/worker/evaluation.h"

namespace paceline {

absl::StatusOr<std::unique_ptr<Task>> Task::Prepare(
    const v1::JobSpec& job, bool evaluator, const BackendOptions& backend) {
  auto task = absl::WrapUnique(new Task);
  task->job_ = job;
  PACELINE_ASSIGN_OR_RETURN(task->wire_, FromWire(job.wire()));
  const uint32_t micro =
      MicroBatchLimit(job.batch_size(), job.micro_batch(), 0);
  if (micro < 1 || micro > 1 << 20) {
    return absl::InvalidArgumentError("the batch size is out of range");
  }
  PACELINE_ASSIGN_OR_RETURN(
      task->data_,
      LoadDataset(job.data(), evaluator ? Split::kTest : Split::kTrain));
  PACELINE_ASSIGN_OR_RETURN(task->backend_, MakeBackend("cpu", backend));
  PACELINE_ASSIGN_OR_RETURN(
      task->model_,
      Model::Create(job.model(), task->data_->shape(), task->data_->classes(),
                    task->backend_.get(),
                    evaluator ? kEvaluationBatch : static_cast<int>(micro)));
  PACELINE_RETURN_IF_ERROR(task->model_->Initialize(job.seed()));
  return task;
}

v1::WorkerReady Task::Ready(bool evaluator) const {
  v1::WorkerReady ready;
  for (const TensorSpec& spec : model_->tensors()) {
    v1::TensorSpec& tensor = *ready.add_tensors();
    tensor.set_name(spec.name);
    for (const int64_t dimension : spec.shape) tensor.add_shape(dimension);
    tensor.set_size(spec.size);
    tensor.set_statistic(spec.kind == TensorKind::kStatistic);
  }
  if (evaluator) {
    ready.set_test_samples(data_->size());
  } else {
    ready.set_train_samples(data_->size());
  }
  return ready;
}

TensorArrays Task::Arrays() {
  TensorArrays arrays;
  for (size_t i = 0; i < model_->tensors().size(); ++i) {
    arrays.parameters.push_back(model_->parameter(i));
    arrays.gradients.push_back(model_->gradient(i));
  }
  arrays.owner = model_;
  return arrays;
}

}  // namespace paceline
