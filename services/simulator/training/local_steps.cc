#include "services/simulator/training/local_steps.h"

#include <algorithm>

#include "common/tensor/tensor_kind.h"

namespace paceline {

LocalSteps::LocalSteps(Model* model, double rate)
    : model_(*model), rate_(static_cast<float>(rate)) {
  for (const TensorSpec& tensor : model_.tensors()) {
    pushed_.emplace_back(static_cast<size_t>(tensor.size));
  }
}

void LocalSteps::Begin() {
  for (size_t i = 0; i < pushed_.size(); ++i) {
    if (model_.tensors()[i].kind == TensorKind::kTrained) {
      std::ranges::copy(model_.parameter(i), pushed_[i].begin());
    } else {
      std::ranges::fill(pushed_[i], 0.0f);
    }
  }
}

absl::Status LocalSteps::Step(double share) {
  for (size_t i = 0; i < pushed_.size(); ++i) {
    const absl::Span<const float> gradient = model_.gradient(i);
    if (model_.tensors()[i].kind == TensorKind::kTrained) {
      const absl::Span<float> weights = model_.parameter(i);
      for (size_t k = 0; k < weights.size(); ++k) {
        weights[k] -= rate_ * gradient[k];
      }
      continue;
    }
    for (size_t k = 0; k < gradient.size(); ++k) {
      pushed_[i][k] += static_cast<float>(share) * gradient[k];
    }
  }
  return model_.ParametersChanged();
}

void LocalSteps::End() {
  for (size_t i = 0; i < pushed_.size(); ++i) {
    if (model_.tensors()[i].kind != TensorKind::kTrained) continue;
    const absl::Span<const float> weights = model_.parameter(i);
    for (size_t k = 0; k < weights.size(); ++k) pushed_[i][k] -= weights[k];
  }
}

}  // namespace paceline
