#ifndef PACELINE_SERVICES_WORKER_MODEL_CONV_LAYER_H_
#define PACELINE_SERVICES_WORKER_MODEL_CONV_LAYER_H_

#include <string>
#include <vector>

#include "services/worker/model/layer.h"

namespace paceline {

struct ConvOptions {
  int64_t channels = 0;  // Of the output.
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t pad = 0;
  // False in front of a batch normalization, which would take it out again.
  bool bias = true;
};

// A convolution of planes: tensors NAME.weight [out channels, in channels,
// kernel, kernel], He-initialized, and NAME.bias [out channels], which starts
// at 0.
class ConvLayer final : public Layer {
 public:
  // REQUIRES: input is in planes and not smaller than the kernel less padding.
  ConvLayer(std::string name, const FeatureShape& input,
            const ConvOptions& options);

  std::vector<TensorPlan> Plan() const override;
  void Bind(absl::Span<const BoundTensor> tensors) override;
  void Forward(const Pass& pass, DeviceView x, DeviceSpan y) override;
  void Backward(const Pass& pass, DeviceView x, DeviceView dy,
                DeviceSpan dx) override;

 private:
  ConvShape ShapeOf(int64_t batch) const;

  const std::string name_;
  const ConvShape sample_;  // Of a batch of one.
  const bool has_bias_;
  BoundTensor weight_;
  BoundTensor bias_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_MODEL_CONV_LAYER_H_
