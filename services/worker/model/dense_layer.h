#ifndef PACELINE_SERVICES_WORKER_MODEL_DENSE_LAYER_H_
#define PACELINE_SERVICES_WORKER_MODEL_DENSE_LAYER_H_

#include <string>
#include <vector>

#include "services/worker/model/layer.h"

namespace paceline {

// y = x W^T + b on flat samples: tensors NAME.weight [outputs, inputs] and
// NAME.bias [outputs], which starts at 0.
class DenseLayer final : public Layer {
 public:
  // Also takes images as they come: one sample's pixels are contiguous.
  DenseLayer(std::string name, int64_t inputs, int64_t outputs,
             InitialValue initial);

  std::vector<TensorPlan> Plan() const override;
  void Bind(absl::Span<const BoundTensor> tensors) override;
  ReluTaken TakeRelu() override;
  void Forward(const Pass& pass, DeviceView x, DeviceSpan y) override;
  void Backward(const Pass& pass, DeviceView x, DeviceView dy,
                DeviceSpan dx) override;

 private:
  const std::string name_;
  const int64_t inputs_;
  const int64_t outputs_;
  const InitialValue initial_;
  Activation activation_ = Activation::kNone;
  BoundTensor weight_;
  BoundTensor bias_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_MODEL_DENSE_LAYER_H_
