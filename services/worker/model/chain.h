#ifndef PACELINE_SERVICES_WORKER_MODEL_CHAIN_H_
#define PACELINE_SERVICES_WORKER_MODEL_CHAIN_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "services/worker/model/layer.h"
#include "services/worker/model/layers.h"

namespace paceline {

// Layers one after the other, with the memory for what flows between them.
// Thread-compatible.
class Chain {
 public:
  explicit Chain(const FeatureShape& input) : input_(input), output_(input) {}
  Chain(Chain&&) = default;

  // REQUIRES: the layer was made for output() as its input. Neither the first
  // nor the last layer is in place: what goes in and out is the caller's.
  Chain& Add(std::unique_ptr<Layer> layer);

  // A model is written down as the list that it is: each of these adds a layer,
  // which takes the shape from the one before it. What does not fit is a bug.
  Chain& ToPlanes() { return Transpose(); }
  Chain& Conv(std::string name, const ConvOptions& options);
  Chain& BatchNorm(std::string name);
  Chain& Relu();
  // Windows side by side.
  Chain& MaxPool(int64_t window);
  Chain& AveragePool(int64_t window);
  Chain& Flatten() { return Transpose(); }
  // In front of a ReLU: He-initialized.
  Chain& Dense(std::string name, int64_t outputs);
  // In front of the softmax: Glorot-initialized.
  Chain& Logits(std::string name, int64_t classes);
  Chain& Residual(Chain branch, int64_t stride);

  const FeatureShape& input() const { return input_; }
  const FeatureShape& output() const { return output_; }

  // As Layer's, over all layers.
  std::vector<TensorPlan> Plan() const;
  void Bind(absl::Span<const BoundTensor> tensors);
  absl::Status Allocate(Backend& backend, int64_t batch_max);

  // x and y hold pass.batch samples of input() and output().
  void Forward(const Pass& pass, DeviceView x, DeviceSpan y);

  // REQUIRES: the last call was Forward, with the same pass.batch and x. dx may
  // be empty.
  void Backward(const Pass& pass, DeviceView x, DeviceView dy, DeviceSpan dx);

 private:
  Chain& Transpose();
  // Where layer `i` writes.  REQUIRES: it is not the last.
  DeviceSpan OutputOf(size_t i, int64_t batch) const;

  FeatureShape input_;
  FeatureShape output_;
  std::vector<std::unique_ptr<Layer>> layers_;
  // What the layers write; null for those in place and for the last.
  std::vector<std::unique_ptr<Buffer>> activations_;
  // Gradients go from one to the other: each is read once, by the next layer.
  std::unique_ptr<Buffer> gradients_[2];
};

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

#endif  // PACELINE_SERVICES_WORKER_MODEL_CHAIN_H_
