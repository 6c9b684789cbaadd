#ifndef PACELINE_SERVICES_WORKER_MODEL_RELU_LAYER_H_
#define PACELINE_SERVICES_WORKER_MODEL_RELU_LAYER_H_

#include "services/worker/model/layer.h"

namespace paceline {

// max(x, 0), in place: the sign of what it wrote tells Backward all it needs.
class ReluLayer final : public Layer {
 public:
  explicit ReluLayer(const FeatureShape& input) : Layer(input) {}

  bool in_place() const override { return true; }

  void Forward(const Pass& pass, DeviceView x, DeviceSpan y) override {
    pass.backend.ReluForward(x, y);
  }

  void Backward(const Pass& pass, DeviceView x, DeviceView dy,
                DeviceSpan dx) override {
    pass.backend.ReluBackward(x, dy, dx);
  }
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_MODEL_RELU_LAYER_H_
