#include "services/worker/model/dense_layer.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace paceline {

DenseLayer::DenseLayer(std::string name, int64_t inputs, int64_t outputs,
                       InitialValue initial)
    : Layer({.layout = Layout::kFlat, .channels = outputs}),
      name_(std::move(name)),
      inputs_(inputs),
      outputs_(outputs),
      initial_(initial) {}

std::vector<TensorPlan> DenseLayer::Plan() const {
  return {PlanTensor(absl::StrCat(name_, ".weight"), TensorKind::kWeight,
                     {outputs_, inputs_}, initial_),
          PlanTensor(absl::StrCat(name_, ".bias"), TensorKind::kWeight,
                     {outputs_}, {})};
}

void DenseLayer::Bind(absl::Span<const BoundTensor> tensors) {
  weight_ = tensors[0];
  bias_ = tensors[1];
}

ReluTaken DenseLayer::TakeRelu() {
  activation_ = Activation::kRelu;
  return ReluTaken::kForward;
}

void DenseLayer::Forward(const Pass& pass, DeviceView x, DeviceSpan y) {
  pass.backend.Gemm(
      {.transpose_b = true, .m = pass.batch, .n = outputs_, .k = inputs_}, 1, x,
      weight_.value, 0, y);
  pass.backend.AddBias({pass.batch, outputs_, 1, activation_}, bias_.value, y);
}

void DenseLayer::Backward(const Pass& pass, DeviceView x, DeviceView dy,
                          DeviceSpan dx) {
  pass.backend.ReduceBias({pass.batch, outputs_, 1}, dy, pass.beta,
                          bias_.gradient);
  pass.Ready(bias_.index);
  pass.backend.Gemm(
      {.transpose_a = true, .m = outputs_, .n = inputs_, .k = pass.batch}, 1,
      dy, x, pass.beta, weight_.gradient);
  pass.Ready(weight_.index);
  if (dx.empty()) return;
  pass.backend.Gemm({.m = pass.batch, .n = inputs_, .k = outputs_}, 1, dy,
                    weight_.value, 0, dx);
}

}  // namespace paceline
