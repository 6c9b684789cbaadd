#ifndef PACELINE_SERVICES_WORKER_MODEL_RELU_LAYER_H_
#define PACELINE_SERVICES_WORKER_MODEL_RELU_LAYER_H_

#include "services/worker/model/layer.h"

namespace paceline {

// max(x, 0), in place: the sign of what was written tells Backward all it
// needs.
class ReluLayer final : public Layer {
 public:
  // `taken`: the layer in front has done it in Forward.
  ReluLayer(const FeatureShape& input, bool taken)
      : Layer(input), taken_(taken) {}

  bool in_place() const override { return true; }

  void Forward(const Pass& pass, DeviceView x, DeviceSpan y) override {
    if (!taken_) pass.backend.ReluForward(x, y);
  }

  void Backward(const Pass& pass, DeviceView x, DeviceView dy,
                DeviceSpan dx) override {
    pass.backend.ReluBackward(x, dy, dx);
  }

 private:
  const bool taken_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_MODEL_RELU_LAYER_H_
