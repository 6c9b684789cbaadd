#include "services/worker/model/layers.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"

namespace paceline {
namespace {

FeatureShape OutputShape(const FeatureShape& input, int64_t window,
                         int64_t stride) {
  CHECK(input.layout == Layout::kPlanes);
  CHECK(input.height >= window && input.width >= window);
  return {.layout = Layout::kPlanes,
          .channels = input.channels,
          .height = (input.height - window) / stride + 1,
          .width = (input.width - window) / stride + 1};
}

FeatureShape Transposed(const FeatureShape& input) {
  CHECK(input.layout != Layout::kFlat);
  if (input.layout == Layout::kPlanes) {
    return {.layout = Layout::kFlat, .channels = input.size()};
  }
  FeatureShape planes = input;
  planes.layout = Layout::kPlanes;
  return planes;
}

ConvShape SampleShape(const FeatureShape& input, const ConvOptions& options) {
  return {.batch = 1,
          .in_channels = input.channels,
          .height = input.height,
          .width = input.width,
          .out_channels = options.channels,
          .kernel = options.kernel,
          .stride = options.stride,
          .pad = options.pad};
}

FeatureShape OutputShape(const ConvShape& shape) {
  return {.layout = Layout::kPlanes,
          .channels = shape.out_channels,
          .height = shape.out_height(),
          .width = shape.out_width()};
}

}  // namespace

PoolLayer::PoolLayer(PoolKind kind, const FeatureShape& input, int64_t window,
                     int64_t stride)
    : Layer(OutputShape(input, window, stride)),
      kind_(kind),
      sample_{.planes = input.channels,
              .height = input.height,
              .width = input.width,
              .window = window,
              .stride = stride} {}

PoolShape PoolLayer::ShapeOf(int64_t batch) const {
  PoolShape shape = sample_;
  shape.planes *= batch;
  return shape;
}

void PoolLayer::Forward(const Pass& pass, DeviceView x, DeviceSpan y) {
  if (kind_ == PoolKind::kMax) {
    pass.backend.MaxPoolForward(ShapeOf(pass.batch), x, y);
  } else {
    pass.backend.AvgPoolForward(ShapeOf(pass.batch), x, y);
  }
}

void PoolLayer::Backward(const Pass& pass, DeviceView x, DeviceView dy,
                         DeviceSpan dx) {
  if (dx.empty()) return;
  if (kind_ == PoolKind::kMax) {
    pass.backend.MaxPoolBackward(ShapeOf(pass.batch), x, dy, dx);
  } else {
    pass.backend.AvgPoolBackward(ShapeOf(pass.batch), dy, dx);
  }
}

TransposeLayer::TransposeLayer(const FeatureShape& input)
    : Layer(Transposed(input)), input_(input) {}

void TransposeLayer::Forward(const Pass& pass, DeviceView x, DeviceSpan y) {
  Swap(pass, /*samples_first=*/input_.layout == Layout::kImages, x, y);
}

void TransposeLayer::Backward(const Pass& pass, DeviceView /*x*/, DeviceView dy,
                              DeviceSpan dx) {
  if (dx.empty()) return;
  Swap(pass, /*samples_first=*/input_.layout != Layout::kImages, dy, dx);
}

void TransposeLayer::Swap(const Pass& pass, bool samples_first, DeviceView from,
                          DeviceSpan to) const {
  const int64_t channels = input_.channels;
  pass.backend.SwapLeading(samples_first ? pass.batch : channels,
                           samples_first ? channels : pass.batch,
                           input_.height * input_.width, from, to);
}

DenseLayer::DenseLayer(std::string name, int64_t inputs, int64_t outputs,
                       InitialValue initial)
    : Layer({.layout = Layout::kFlat, .channels = outputs}),
      name_(std::move(name)),
      inputs_(inputs),
      outputs_(outputs),
      initial_(initial) {}

std::vector<TensorPlan> DenseLayer::Plan() const {
  return {PlanTensor(absl::StrCat(name_, ".weight"), TensorKind::kTrained,
                     {outputs_, inputs_}, initial_),
          PlanTensor(absl::StrCat(name_, ".bias"), TensorKind::kTrained,
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

ConvLayer::ConvLayer(std::string name, const FeatureShape& input,
                     const ConvOptions& options)
    : Layer(OutputShape(SampleShape(input, options))),
      name_(std::move(name)),
      sample_(SampleShape(input, options)),
      has_bias_(options.bias) {
  CHECK(input.layout == Layout::kPlanes);
  CHECK(output().height > 0 && output().width > 0);
}

ConvShape ConvLayer::ShapeOf(int64_t batch) const {
  ConvShape shape = sample_;
  shape.batch = batch;
  return shape;
}

std::vector<TensorPlan> ConvLayer::Plan() const {
  std::vector<TensorPlan> plans = {
      PlanTensor(absl::StrCat(name_, ".weight"), TensorKind::kTrained,
                 {sample_.out_channels, sample_.in_channels, sample_.kernel,
                  sample_.kernel},
                 HeInitial(sample_.patch()))};
  if (has_bias_) {
    plans.push_back(PlanTensor(absl::StrCat(name_, ".bias"),
                               TensorKind::kTrained, {sample_.out_channels},
                               {}));
  }
  return plans;
}

void ConvLayer::Bind(absl::Span<const BoundTensor> tensors) {
  weight_ = tensors[0];
  if (has_bias_) bias_ = tensors[1];
}

void ConvLayer::Forward(const Pass& pass, DeviceView x, DeviceSpan y) {
  pass.backend.ConvForward(ShapeOf(pass.batch), x, weight_.value, bias_.value,
                           y);
}

void ConvLayer::Backward(const Pass& pass, DeviceView x, DeviceView dy,
                         DeviceSpan dx) {
  const ConvShape shape = ShapeOf(pass.batch);
  if (has_bias_) {
    pass.backend.ReduceBias({1, shape.out_channels, shape.out_plane()}, dy,
                            pass.beta, bias_.gradient);
    pass.Ready(bias_.index);
  }
  pass.backend.ConvBackwardWeights(shape, x, dy, pass.beta, weight_.gradient);
  pass.Ready(weight_.index);
  if (!dx.empty()) {
    pass.backend.ConvBackwardData(shape, weight_.value, dy, dx);
  }
}

BatchNormLayer::BatchNormLayer(std::string name, const FeatureShape& input)
    : Layer(input), name_(std::move(name)) {
  CHECK(input.layout == Layout::kPlanes);
}

BatchNormShape BatchNormLayer::ShapeOf(int64_t batch) const {
  return {.channels = output().channels,
          .inner = batch * output().height * output().width,
          .activation = activation_};
}

ReluTaken BatchNormLayer::TakeRelu() {
  activation_ = Activation::kRelu;
  return ReluTaken::kAll;
}

std::vector<TensorPlan> BatchNormLayer::Plan() const {
  const auto plan = [this](const char* part, TensorKind kind, float constant) {
    return PlanTensor(absl::StrCat(name_, part), kind, {output().channels},
                      {.constant = constant});
  };
  return {plan(".scale", TensorKind::kTrained, 1),
          plan(".shift", TensorKind::kTrained, 0),
          plan(".mean", TensorKind::kStatistic, 0),
          plan(".mean_square", TensorKind::kStatistic, 1)};
}

void BatchNormLayer::Bind(absl::Span<const BoundTensor> tensors) {
  scale_ = tensors[0];
  shift_ = tensors[1];
  mean_ = tensors[2];
  mean_square_ = tensors[3];
}

absl::Status BatchNormLayer::Allocate(Backend& backend, int64_t /*batch_max*/) {
  PACELINE_ASSIGN_OR_RETURN(batch_mean_, backend.Allocate(output().channels));
  PACELINE_ASSIGN_OR_RETURN(batch_variance_,
                            backend.Allocate(output().channels));
  return absl::OkStatus();
}

void BatchNormLayer::Forward(const Pass& pass, DeviceView x, DeviceSpan y) {
  if (pass.training) {
    pass.backend.BatchNormForward(ShapeOf(pass.batch), x, scale_.value,
                                  shift_.value, batch_mean_->span(),
                                  batch_variance_->span(), y);
  } else {
    pass.backend.BatchNormInference(ShapeOf(pass.batch), x, scale_.value,
                                    shift_.value, mean_.value,
                                    mean_square_.value, y);
  }
}

void BatchNormLayer::Backward(const Pass& pass, DeviceView x, DeviceView dy,
                              DeviceSpan dx) {
  pass.backend.BatchNormMoments(pass.share, batch_mean_->span(),
                                batch_variance_->span(), pass.beta,
                                mean_.gradient, mean_square_.gradient);
  pass.Ready(mean_square_.index);
  pass.Ready(mean_.index);
  pass.backend.BatchNormBackward(ShapeOf(pass.batch), x, scale_.value,
                                 shift_.value, batch_mean_->span(),
                                 batch_variance_->span(), dy, pass.beta,
                                 scale_.gradient, shift_.gradient, dx);
  pass.Ready(shift_.index);
  pass.Ready(scale_.index);
}

}  // namespace paceline
