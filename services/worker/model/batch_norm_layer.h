#ifndef PACELINE_SERVICES_WORKER_MODEL_BATCH_NORM_LAYER_H_
#define PACELINE_SERVICES_WORKER_MODEL_BATCH_NORM_LAYER_H_

#include <memory>
#include <string>
#include <vector>

#include "services/worker/model/layer.h"

namespace paceline {

// Batch normalization of planes: weights NAME.scale (starts at 1) and
// NAME.shift (0), statistics NAME.mean (0) and NAME.mean_square (1), each one
// value a channel. In training the micro-batch's own statistics are used, and
// the "gradient" of a statistics tensor is the batch's value, the sum of the
// micro-batches' by their shares; the layer keeps no running average, the
// parameter servers do. In evaluation variance = mean_square - mean^2.
class BatchNormLayer final : public Layer {
 public:
  // REQUIRES: input is in planes; the layer does not stand first in a model,
  // so that a gradient of x is always wanted.
  BatchNormLayer(std::string name, const FeatureShape& input);

  std::vector<TensorPlan> Plan() const override;
  void Bind(absl::Span<const BoundTensor> tensors) override;
  absl::Status Allocate(Backend& backend, int64_t batch_max) override;
  ReluTaken TakeRelu() override;
  void Forward(const Pass& pass, DeviceView x, DeviceSpan y) override;
  void Backward(const Pass& pass, DeviceView x, DeviceView dy,
                DeviceSpan dx) override;

 private:
  BatchNormShape ShapeOf(int64_t batch) const;

  const std::string name_;
  Activation activation_ = Activation::kNone;
  BoundTensor scale_;
  BoundTensor shift_;
  BoundTensor mean_;
  BoundTensor mean_square_;
  // Of the micro-batch, from Forward to Backward.
  std::unique_ptr<Buffer> batch_mean_;
  std::unique_ptr<Buffer> batch_variance_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_MODEL_BATCH_NORM_LAYER_H_
