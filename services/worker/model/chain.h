#ifndef PACELINE_SERVICES_WORKER_MODEL_CHAIN_H_
#define PACELINE_SERVICES_WORKER_MODEL_CHAIN_H_

#include <memory>
#include <vector>

#include "services/worker/model/layer.h"

namespace paceline {

// Layers one after the other, with the memory for what flows between them.
// Thread-compatible.
class Chain {
 public:
  explicit Chain(FeatureShape input) : input_(input), output_(input) {}
  Chain(Chain&&) = default;

  // REQUIRES: the layer was made for output() as its input. Neither the first
  // nor the last layer is in place: what goes in and out is the caller's.
  void Add(std::unique_ptr<Layer> layer);

  // Layer::TakeRelu of the last layer.  REQUIRES: there is one.
  ReluTaken TakeRelu();

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

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_MODEL_CHAIN_H_
