#include "services/worker/builtin_computation.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "absl/memory/memory.h"
#include "common/log/log.h"
#include "common/micro_batches.h"
#include "common/rpc/wire_format.h"
#include "common/status.h"
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

absl::StatusOr<std::unique_ptr<BuiltinComputation>> BuiltinComputation::Create(
    const v1::JobSpec& job, DType wire, bool evaluator, const TaskHost& host) {
  auto made = absl::WrapUnique(new BuiltinComputation(job.seed(), evaluator));
  const uint32_t micro =
      MicroBatchLimit(job.batch_size(), job.micro_batch(), 0);
  if (micro < 1 || micro > 1 << 20) {
    return absl::InvalidArgumentError("the batch size is out of range");
  }
  PACELINE_ASSIGN_OR_RETURN(
      made->data_,
      LoadDataset(job.data(), evaluator ? Split::kTest : Split::kTrain,
                  host.data));
  PACELINE_ASSIGN_OR_RETURN(
      made->machine_,
      MakeMachine(job, wire, *made->data_,
                  evaluator ? kEvaluationBatch : static_cast<int>(micro), host,
                  evaluator ? 1 : host.devices.size()));
  Machine& machine = *made->machine_;
  PACELINE_RETURN_IF_ERROR(machine.model->Initialize(job.seed()));
  // Where the device reads any memory, the loader finds its own.
  if (evaluator || machine.backends[0]->host_visible()) return made;
  for (std::unique_ptr<Buffer>& images : machine.images) {
    PACELINE_ASSIGN_OR_RETURN(images, machine.backends[0]->AllocateHost(
                                          made->data_->shape().size() * micro));
  }
  return made;
}

absl::StatusOr<std::shared_ptr<BuiltinComputation::Machine>>
BuiltinComputation::MakeMachine(const v1::JobSpec& job, DType wire,
                                const Dataset& data, int batch_max,
                                const TaskHost& host, size_t devices) {
  auto machine = std::make_shared<Machine>();
  BackendOptions options = host.backend;
  PACELINE_ASSIGN_OR_RETURN(options.precision, PrecisionOf(job));
  std::vector<Backend*> backends;
  for (size_t i = 0; i < devices; ++i) {
    options.device = host.devices[i];
    PACELINE_ASSIGN_OR_RETURN(machine->backends.emplace_back(),
                              MakeBackend(host.device, options));
    backends.push_back(machine->backends.back().get());
  }
  PACELINE_ASSIGN_OR_RETURN(
      machine->model,
      ReplicatedModel::Create(
          job.model(), data.shape(), data.classes(), backends, batch_max,
          // Where the client reads the device's memory it converts.
          backends[0]->host_visible() ? DType::kF32 : wire));
  return machine;
}

v1::WorkerReady BuiltinComputation::Ready() const {
  v1::WorkerReady ready;
  for (const TensorSpec& spec : machine_->model->first().tensors()) {
    v1::TensorSpec& tensor = *ready.add_tensors();
    tensor.set_name(spec.name);
    for (const int64_t dimension : spec.shape) tensor.add_shape(dimension);
    tensor.set_size(spec.size);
    tensor.set_kind(ToWire(spec.kind));
  }
  if (evaluator_) {
    ready.set_test_samples(data_->size());
  } else {
    ready.set_train_samples(data_->size());
    ready.set_extends(true);
  }
  return ready;
}

BatchLoader::ImageMemory BuiltinComputation::ImageMemory() const {
  BatchLoader::ImageMemory memory;
  for (size_t i = 0; i < memory.size(); ++i) {
    if (machine_->images[i] == nullptr) continue;
    memory[i] = HostSpan(machine_->images[i]->span());
  }
  return memory;
}

TensorArrays BuiltinComputation::Arrays() {
  Model& first = model().first();
  TensorArrays arrays;
  for (size_t i = 0; i < first.tensors().size(); ++i) {
    arrays.parameters.push_back(first.parameter(i));
    arrays.gradients.push_back(first.wire_gradient(i));
    arrays.kinds.push_back(first.tensors()[i].kind);
  }
  arrays.owner = machine_;
  arrays.unconverted = first.host_visible();
  return arrays;
}

absl::Status BuiltinComputation::Begin(bool initialize) {
  // A worker of an earlier assignment has computed on these arrays.
  return initialize ? model().Initialize(seed_) : absl::OkStatus();
}

absl::Status BuiltinComputation::Order(const v1::Grant&,
                                       const StepOrder& order) {
  order_ = order;
  order_.overlaps = order.overlaps && model().overlaps();
  done_ = 0;
  loss_sum_ = 0;
  if (!loader_.has_value()) loader_.emplace(&*data_, seed_, ImageMemory());
  // The loader gathers while the weights are on their way.
  return StartLoading();
}

absl::Status BuiltinComputation::StartLoading() {
  return loader_->Start(order_.range,
                        static_cast<int>(MicroBatchSize(order_.range.size(),
                                                        order_.micro_batch)));
}

absl::Status BuiltinComputation::Extend(const SampleRange& range) {
  order_.range = range;
  return StartLoading();
}

absl::Status BuiltinComputation::Finish() {
  return order_.asks ? Break(model().FetchGradients()) : absl::OkStatus();
}

bool BuiltinComputation::takes_parameters_singly() const {
  // Each goes up to a device while others are on their way.
  return !machine_->model->first().host_visible();
}

void BuiltinComputation::ParameterArrived(size_t tensor) {
  model().ParameterArrived(tensor);
}

absl::Status BuiltinComputation::ParametersChanged() {
  return model().ParametersChanged();
}

absl::StatusOr<std::optional<StepOutcome>> BuiltinComputation::Compute(
    StepWatch& watch) {
  const uint32_t size = order_.range.size();
  // What is added later has the weight of what is there.
  const uint32_t before = done_ > 0 ? done_ : size;
  const float scale = 1.0f / static_cast<float>(before);
  StepOutcome outcome;
  model().DropStaged();  // A step that came to nothing may have left some.
  std::optional<MicroBatch> batch = StageNext(outcome.loading);
  while (batch.has_value()) {
    const bool first = done_ + outcome.samples == 0;
    outcome.samples += batch->n;
    outcome.pushing = outcome.samples == size && order_.overlaps;
    StepCalls calls;
    if (outcome.pushing) {
      watch.PushBegins();
      calls.on_ready = [&watch](size_t tensor) {
        watch.GradientsReady(tensor, tensor + 1);
      };
    }
    if (order_.gives_way) {
      calls.between_tensors = [] { std::this_thread::yield(); };
    }
    calls.meanwhile = [&] { batch = StageNext(outcome.loading); };
    const absl::StatusOr<BatchLoss> loss =
        model().ComputeStaged(scale, first, calls);
    if (!loss.ok()) return Break(loss.status());
    outcome.loss += loss->loss_sum;
    outcome.finite = std::isfinite(outcome.loss);
    if (!watch.Computed(outcome.samples, outcome.loading) && !outcome.pushing) {
      return std::nullopt;
    }
    if (!outcome.finite || watch.refresh()) break;
  }
  loader_->Stop();
  // It uses up all of them if it is not finite.
  done_ += outcome.finite ? outcome.samples : size;
  loss_sum_ += outcome.loss;
  outcome.samples = done_;
  outcome.loss = loss_sum_ / done_;
  if (outcome.finite && !outcome.pushing) {
    if (done_ != before) {
      model().ScaleGradients(static_cast<float>(before) /
                             static_cast<float>(done_));
    }
    if (!order_.asks) PACELINE_RETURN_IF_ERROR(Break(model().FetchGradients()));
  }
  TellObstacle();
  return outcome;
}

std::optional<MicroBatch> BuiltinComputation::StageNext(
    absl::Duration& loading) {
  const std::optional<MicroBatch> batch = loader_->Next();
  if (!batch.has_value()) return std::nullopt;
  loading += batch->waited;
  model().Stage(batch->images, batch->labels, batch->n);
  return batch;
}

void BuiltinComputation::TellObstacle() {
  if (obstacle_told_) return;
  const absl::Status obstacle = model().repeat_obstacle();
  if (obstacle.ok()) return;
  obstacle_told_ = true;
  LogWarning("a step is not repeated as a graph, so it takes longer",
             {{"reason", obstacle.ToString()}});
}

void BuiltinComputation::Drop() {
  if (loader_.has_value()) loader_->Stop();
}

absl::StatusOr<v1::Evaluated> BuiltinComputation::Evaluate(
    int64_t snapshot, uint32_t samples, absl::FunctionRef<bool()> go_on) {
  const absl::StatusOr<Evaluation> measured =
      paceline::Evaluate(model().first(), *data_, samples, go_on);
  if (absl::IsCancelled(measured.status())) return measured.status();
  if (!measured.ok()) return Break(measured.status());
  v1::Evaluated evaluated;
  evaluated.set_snapshot(snapshot);
  evaluated.set_accuracy(measured->accuracy);
  evaluated.set_loss(measured->loss);
  return evaluated;
}

}  // namespace paceline
