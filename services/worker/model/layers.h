#ifndef PACELINE_SERVICES_WORKER_MODEL_LAYERS_H_
#define PACELINE_SERVICES_WORKER_MODEL_LAYERS_H_

#include <memory>
#include <string>
#include <vector>

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

enum class PoolKind { kMax, kAverage };

// The largest value or the mean of square windows of planes. A window as large
// as the (square) plane makes it a global pool.
class PoolLayer final : public Layer {
 public:
  // REQUIRES: input is in planes, not smaller than the window.
  PoolLayer(PoolKind kind, const FeatureShape& input, int64_t window,
            int64_t stride);

  void Forward(const Pass& pass, DeviceView x, DeviceSpan y) override;
  void Backward(const Pass& pass, DeviceView x, DeviceView dy,
                DeviceSpan dx) override;

 private:
  PoolShape ShapeOf(int64_t batch) const;

  const PoolKind kind_;
  const PoolShape sample_;  // The shape of a batch of one.
};

// Swaps samples and channels: turns images as they come into planes, which a
// convolutional model begins with, and planes into flat samples, [channels,
// height, width] in a row each.
class TransposeLayer final : public Layer {
 public:
  // REQUIRES: input is in images or in planes.
  explicit TransposeLayer(const FeatureShape& input);

  void Forward(const Pass& pass, DeviceView x, DeviceSpan y) override;
  void Backward(const Pass& pass, DeviceView x, DeviceView dy,
                DeviceSpan dx) override;

 private:
  // From [samples, channels, ...], or from [channels, samples, ...].
  void Swap(const Pass& pass, bool samples_first, DeviceView from,
            DeviceSpan to) const;

  const FeatureShape input_;
};

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

struct ConvOptions {
  int64_t channels = 0;  // The output has so many.
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
  const ConvShape sample_;  // The shape of a batch of one.
  const bool has_bias_;
  BoundTensor weight_;
  BoundTensor bias_;
};

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
  // The micro-batch's, kept from Forward to Backward.
  std::unique_ptr<Buffer> batch_mean_;
  std::unique_ptr<Buffer> batch_variance_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_MODEL_LAYERS_H_
