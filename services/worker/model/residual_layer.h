#ifndef PACELINE_SERVICES_WORKER_MODEL_RESIDUAL_LAYER_H_
#define PACELINE_SERVICES_WORKER_MODEL_RESIDUAL_LAYER_H_

#include <vector>

#include "services/worker/model/chain.h"
#include "services/worker/model/layer.h"

namespace paceline {

// y = branch(x) + shortcut(x) on planes, with the parameter-free shortcut of
// gpu/shapes.h (He et al. 2015). The ReLU after the sum is a layer of its own,
// but that it is done with the sum.
class ResidualLayer final : public Layer {
 public:
  // REQUIRES: the branch begins and ends in planes and divides the image by
  // `stride`.
  ResidualLayer(Chain branch, int64_t stride);

  std::vector<TensorPlan> Plan() const override { return branch_.Plan(); }
  void Bind(absl::Span<const BoundTensor> tensors) override {
    branch_.Bind(tensors);
  }
  absl::Status Allocate(Backend& backend, int64_t batch_max) override {
    return branch_.Allocate(backend, batch_max);
  }
  ReluTaken TakeRelu() override;
  void Forward(const Pass& pass, DeviceView x, DeviceSpan y) override;
  void Backward(const Pass& pass, DeviceView x, DeviceView dy,
                DeviceSpan dx) override;

 private:
  ShortcutShape ShapeOf(int64_t batch) const;

  Chain branch_;
  const int64_t stride_;
  Activation activation_ = Activation::kNone;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_MODEL_RESIDUAL_LAYER_H_
