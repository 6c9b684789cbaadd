#ifndef PACELINE_SERVICES_WORKER_MODEL_LAYER_H_
#define PACELINE_SERVICES_WORKER_MODEL_LAYER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gpu/backend.h"
#include "services/worker/model/tensor.h"

namespace paceline {

// What one sample is between two layers. In planes a batch lies
// [channels, batch, height, width] (gpu/shapes.h says why); flat, it lies
// [batch, channels], height and width being 1; as images come,
// [batch, channels, height, width].
enum class Layout { kImages, kPlanes, kFlat };

struct FeatureShape {
  Layout layout = Layout::kFlat;
  int64_t channels = 0;
  int64_t height = 1;
  int64_t width = 1;

  int64_t size() const { return channels * height * width; }
};

// One pass over one micro-batch.
struct Pass {
  Backend& backend;
  int64_t batch = 0;
  // Batch normalization uses the batch's statistics if true, else the tensors.
  bool training = false;
  // Backward only: 0 starts the gradients anew, 1 adds to them.
  float beta = 0;
  // Backward only: the micro-batch's share of the whole batch.
  float share = 1;
  // Backward only, may be null: told the index of every tensor as soon as its
  // gradient has been queued.
  const std::function<void(size_t)>* ready = nullptr;

  void Ready(size_t tensor) const {
    if (ready != nullptr) (*ready)(tensor);
  }
};

// A tensor's place in the model and in memory.
struct BoundTensor {
  size_t index = 0;
  DeviceSpan value;
  DeviceSpan gradient;
};

// How much of the ReLU behind it a layer does in its own passes over memory.
enum class ReluTaken {
  kNothing,
  kForward,  // Backward still masks dy by the sign of y.
  kAll,
};

// A step of a model. Made with its shapes; then Bind and Allocate once, in
// either order; then Forward and Backward alternate.
class Layer {
 public:
  explicit Layer(FeatureShape output) : output_(output) {}
  virtual ~Layer() = default;

  const FeatureShape& output() const { return output_; }

  // The tensors that the layer needs, in forward order, and where they are:
  // Bind gets as many as Plan names.
  virtual std::vector<TensorPlan> Plan() const { return {}; }
  virtual void Bind(absl::Span<const BoundTensor> /*tensors*/) {}

  // Buffers for up to `batch_max` samples. RESOURCE_EXHAUSTED.
  virtual absl::Status Allocate(Backend& /*backend*/, int64_t /*batch_max*/) {
    return absl::OkStatus();
  }

  // True if y must be x and dx must be dy; Backward's x then holds what
  // Forward wrote. Such a layer does not stand first in a chain.
  virtual bool in_place() const { return false; }

  // Asked once, when a ReLU is to follow, before anything else but output().
  virtual ReluTaken TakeRelu() { return ReluTaken::kNothing; }

  virtual void Forward(const Pass& pass, DeviceView x, DeviceSpan y) = 0;

  // Gradients of the tensors and, unless `dx` is empty, of x; x is what the
  // last Forward got. Reports its tensors through pass.Ready, last first.
  virtual void Backward(const Pass& pass, DeviceView x, DeviceView dy,
                        DeviceSpan dx) = 0;

 private:
  const FeatureShape output_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_MODEL_LAYER_H_
