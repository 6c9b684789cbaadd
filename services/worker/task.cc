#include "services/worker/task.h"

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "common/micro_batches.h"
#include "common/rpc/wire_format.h"
#include "common/status.h"
#include "services/worker/data/dataset.h"
#include "services/worker/evaluation.h"

namespace paceline {
namespace {

absl::StatusOr<Precision> PrecisionOf(const v1::JobSpec& job) {
  switch (job.precision()) {
    case v1::JobSpec::PRECISION_UNSPECIFIED:
    case v1::JobSpec::FP32:
      return Precision::kF32;
    case v1::JobSpec::TF32:
      return Precision::kTf32;
    case v1::JobSpec::BF16:
      return Precision::kBf16;
    default:
      return absl::InvalidArgumentError("the precision is not known");
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Task>> Task::Prepare(
    const v1::Assignment& assignment, bool evaluator, const TaskHost& host) {
  const v1::JobSpec& job = assignment.job();
  auto task = absl::WrapUnique(new Task);
  task->Serve(assignment);
  PACELINE_ASSIGN_OR_RETURN(task->wire_, FromWire(job.wire()));
  const uint32_t micro =
      MicroBatchLimit(job.batch_size(), job.micro_batch(), 0);
  if (micro < 1 || micro > 1 << 20) {
    return absl::InvalidArgumentError("the batch size is out of range");
  }
  PACELINE_ASSIGN_OR_RETURN(
      task->data_,
      LoadDataset(job.data(), evaluator ? Split::kTest : Split::kTrain,
                  host.data));
  Machine& machine = *task->machine_;
  BackendOptions options = host.backend;
  PACELINE_ASSIGN_OR_RETURN(options.precision, PrecisionOf(job));
  PACELINE_ASSIGN_OR_RETURN(machine.backend, MakeBackend(host.device, options));
  PACELINE_ASSIGN_OR_RETURN(
      machine.model,
      Model::Create(job.model(), task->data_->shape(), task->data_->classes(),
                    machine.backend.get(),
                    evaluator ? kEvaluationBatch : static_cast<int>(micro),
                    task->wire_));
  PACELINE_RETURN_IF_ERROR(machine.model->Initialize(job.seed()));
  // Where the device reads any memory, the loader finds its own.
  if (evaluator || machine.backend->host_visible()) return task;
  for (std::unique_ptr<Buffer>& images : machine.images) {
    PACELINE_ASSIGN_OR_RETURN(images, machine.backend->AllocateHost(
                                          task->data_->shape().size() * micro));
  }
  return task;
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

absl::Status Task::FromDevice(const absl::Status& status) {
  device_status_.Update(status);
  return status;
}

v1::WorkerReady Task::Ready(bool evaluator) const {
  v1::WorkerReady ready;
  for (const TensorSpec& spec : machine_->model->tensors()) {
    v1::TensorSpec& tensor = *ready.add_tensors();
    tensor.set_name(spec.name);
    for (const int64_t dimension : spec.shape) tensor.add_shape(dimension);
    tensor.set_size(spec.size);
    tensor.set_kind(ToWire(spec.kind));
  }
  if (evaluator) {
    ready.set_test_samples(data_->size());
  } else {
    ready.set_train_samples(data_->size());
  }
  return ready;
}

BatchLoader::ImageMemory Task::ImageMemory() const {
  BatchLoader::ImageMemory memory;
  for (size_t i = 0; i < memory.size(); ++i) {
    if (machine_->images[i] == nullptr) continue;
    memory[i] = HostSpan(machine_->images[i]->span());
  }
  return memory;
}

TensorArrays Task::Arrays() {
  TensorArrays arrays;
  for (size_t i = 0; i < machine_->model->tensors().size(); ++i) {
    arrays.parameters.push_back(machine_->model->parameter(i));
    arrays.gradients.push_back(machine_->model->wire_gradient(i));
  }
  arrays.owner = machine_;
  return arrays;
}

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
