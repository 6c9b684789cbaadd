#ifndef PACELINE_SERVICES_WORKER_MODEL_LAYOUT_LAYER_H_
#define PACELINE_SERVICES_WORKER_MODEL_LAYOUT_LAYER_H_

#include "services/worker/model/layer.h"

namespace paceline {

// Turns images as they come into planes: what a convolutional model begins
// with.
class ToPlanesLayer final : public Layer {
 public:
  // REQUIRES: input is in images.
  explicit ToPlanesLayer(const FeatureShape& input);

  void Forward(const Pass& pass, DeviceView x, DeviceSpan y) override;
  void Backward(const Pass& pass, DeviceView x, DeviceView dy,
                DeviceSpan dx) override;
};

// Turns planes into flat samples, [channels, height, width] in a row each.
class FlattenLayer final : public Layer {
 public:
  // REQUIRES: input is in planes.
  explicit FlattenLayer(const FeatureShape& input);

  void Forward(const Pass& pass, DeviceView x, DeviceSpan y) override;
  void Backward(const Pass& pass, DeviceView x, DeviceView dy,
                DeviceSpan dx) override;

 private:
  const FeatureShape input_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_MODEL_LAYOUT_LAYER_H_
