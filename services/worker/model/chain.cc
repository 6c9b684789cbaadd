#include "services/worker/model/chain.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "common/check.h"
#include "common/status.h"
#include "services/worker/model/layers.h"

namespace paceline {

Chain& Chain::Add(std::unique_ptr<Layer> layer) {
  CHECK(!layers_.empty() || !layer->in_place());
  output_ = layer->output();
  layers_.push_back(std::move(layer));
  return *this;
}

Chain& Chain::Transpose() {
  return Add(std::make_unique<TransposeLayer>(output_));
}

Chain& Chain::Conv(std::string name, const ConvOptions& options) {
  return Add(std::make_unique<ConvLayer>(std::move(name), output_, options));
}

Chain& Chain::BatchNorm(std::string name) {
  return Add(std::make_unique<BatchNormLayer>(std::move(name), output_));
}

Chain& Chain::Relu() {
  CHECK(!layers_.empty());
  const ReluTaken taken = layers_.back()->TakeRelu();
  if (taken == ReluTaken::kAll) return *this;
  return Add(
      std::make_unique<ReluLayer>(output_, taken == ReluTaken::kForward));
}

Chain& Chain::MaxPool(int64_t window) {
  return Add(
      std::make_unique<PoolLayer>(PoolKind::kMax, output_, window, window));
}

Chain& Chain::AveragePool(int64_t window) {
  return Add(
      std::make_unique<PoolLayer>(PoolKind::kAverage, output_, window, window));
}

Chain& Chain::Dense(std::string name, int64_t outputs) {
  const int64_t inputs = output_.size();
  return Add(std::make_unique<DenseLayer>(std::move(name), inputs, outputs,
                                          HeInitial(inputs)));
}

Chain& Chain::Logits(std::string name, int64_t classes) {
  const int64_t inputs = output_.size();
  return Add(std::make_unique<DenseLayer>(std::move(name), inputs, classes,
                                          GlorotInitial(inputs, classes)));
}

Chain& Chain::Residual(Chain branch, int64_t stride) {
  return Add(std::make_unique<ResidualLayer>(std::move(branch), stride));
}

std::vector<TensorPlan> Chain::Plan() const {
  std::vector<TensorPlan> plans;
  for (const auto& layer : layers_) {
    for (TensorPlan& plan : layer->Plan()) plans.push_back(std::move(plan));
  }
  return plans;
}

void Chain::Bind(absl::Span<const BoundTensor> tensors) {
  size_t next = 0;
  for (const auto& layer : layers_) {
    const size_t count = layer->Plan().size();
    layer->Bind(tensors.subspan(next, count));
    next += count;
  }
  CHECK(next == tensors.size());
}

absl::Status Chain::Allocate(Backend& backend, int64_t batch_max) {
  CHECK(!layers_.empty() && !layers_.back()->in_place());
  activations_.resize(layers_.size());
  int64_t widest = 0;
  for (size_t i = 0; i < layers_.size(); ++i) {
    PACELINE_RETURN_IF_ERROR(layers_[i]->Allocate(backend, batch_max));
    if (i + 1 == layers_.size() || layers_[i]->in_place()) continue;
    const int64_t size = layers_[i]->output().size();
    PACELINE_ASSIGN_OR_RETURN(activations_[i],
                              backend.Allocate(size * batch_max));
    widest = std::max(widest, size);
  }
  for (auto& gradient : gradients_) {
    PACELINE_ASSIGN_OR_RETURN(gradient, backend.Allocate(widest * batch_max));
  }
  return absl::OkStatus();
}

DeviceSpan Chain::OutputOf(size_t i, int64_t batch) const {
  while (layers_[i]->in_place()) --i;
  return activations_[i]->span().First(batch * layers_[i]->output().size());
}

void Chain::Forward(const Pass& pass, DeviceView x, DeviceSpan y) {
  CHECK(x.size == pass.batch * input_.size());
  CHECK(y.size == pass.batch * output_.size());
  for (size_t i = 0; i < layers_.size(); ++i) {
    const DeviceSpan out =
        i + 1 == layers_.size() ? y : OutputOf(i, pass.batch);
    layers_[i]->Forward(pass, x, out);
    x = out;
  }
}

void Chain::Backward(const Pass& pass, DeviceView x, DeviceView dy,
                     DeviceSpan dx) {
  CHECK(dy.size == pass.batch * output_.size());
  DeviceSpan gradient;  // What the layer behind has written.
  int free = 0;
  for (size_t i = layers_.size(); i-- > 0;) {
    const DeviceView in = i == 0 ? x : OutputOf(i - 1, pass.batch);
    if (i == 0) {
      gradient = dx;
    } else if (!layers_[i]->in_place()) {
      gradient = gradients_[free]->span().First(in.size);
      free = 1 - free;
    }
    layers_[i]->Backward(pass, in, dy, gradient);
    dy = gradient;
  }
}

ResidualLayer::ResidualLayer(Chain branch, int64_t stride)
    : Layer(branch.output()), branch_(std::move(branch)), stride_(stride) {
  CHECK(branch_.input().layout == Layout::kPlanes);
  const ShortcutShape shape = ShapeOf(1);
  CHECK(shape.out_height() == output().height);
  CHECK(shape.out_width() == output().width);
}

ShortcutShape ResidualLayer::ShapeOf(int64_t batch) const {
  return {.batch = batch,
          .in_channels = branch_.input().channels,
          .out_channels = output().channels,
          .height = branch_.input().height,
          .width = branch_.input().width,
          .stride = stride_,
          .activation = activation_};
}

ReluTaken ResidualLayer::TakeRelu() {
  activation_ = Activation::kRelu;
  return ReluTaken::kForward;
}

void ResidualLayer::Forward(const Pass& pass, DeviceView x, DeviceSpan y) {
  branch_.Forward(pass, x, y);
  pass.backend.AddShortcut(ShapeOf(pass.batch), x, y);
}

void ResidualLayer::Backward(const Pass& pass, DeviceView x, DeviceView dy,
                             DeviceSpan dx) {
  branch_.Backward(pass, x, dy, dx);
  if (!dx.empty()) {
    pass.backend.AddShortcutGradient(ShapeOf(pass.batch), dy, dx);
  }
}

}  // namespace paceline
