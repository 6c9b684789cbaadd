#include "services/worker/model/batch_norm_layer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"

namespace paceline {

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
  return {plan(".scale", TensorKind::kWeight, 1),
          plan(".shift", TensorKind::kWeight, 0),
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
