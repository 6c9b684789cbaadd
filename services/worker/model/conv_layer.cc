#include "services/worker/model/conv_layer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace paceline {
namespace {

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
      PlanTensor(absl::StrCat(name_, ".weight"), TensorKind::kWeight,
                 {sample_.out_channels, sample_.in_channels, sample_.kernel,
                  sample_.kernel},
                 HeInitial(sample_.patch()))};
  if (has_bias_) {
    plans.push_back(PlanTensor(absl::StrCat(name_, ".bias"),
                               TensorKind::kWeight, {sample_.out_channels},
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

}  // namespace paceline
