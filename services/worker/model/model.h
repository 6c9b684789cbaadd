#ifndef PACELINE_SERVICES_WORKER_MODEL_MODEL_H_
#define PACELINE_SERVICES_WORKER_MODEL_MODEL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gpu/backend.h"
#include "services/worker/data/image_shape.h"
#include "services/worker/model/chain.h"
#include "services/worker/model/tensor.h"

namespace paceline {

// What a micro-batch came to. The loss is the cross-entropy in nats.
struct BatchLoss {
  double loss_sum = 0;
  int correct = 0;
};

// A network with its parameters and gradients on one backend. The same calls
// on the same values give the same bits. Thread-compatible; on_ready runs in
// the calling thread.
class Model {
 public:
  // `name` is one of Architectures(). INVALID_ARGUMENT: no such model (the
  // message lists them), images too small for it, fewer than 2 or more than
  // 256 classes, or batch_max below 1. RESOURCE_EXHAUSTED: no memory. `backend`
  // must outlive the model, whose parameters are zero until Initialize.
  static absl::StatusOr<std::unique_ptr<Model>> Create(absl::string_view name,
                                                       const ImageShape& input,
                                                       int classes,
                                                       Backend* backend,
                                                       int batch_max);

  // The same with a network of one's own, from images to flat logits.
  static absl::StatusOr<std::unique_ptr<Model>> FromChain(Chain chain,
                                                          Backend* backend,
                                                          int batch_max);

  const std::vector<TensorSpec>& tensors() const { return specs_; }
  int batch_max() const { return batch_max_; }

  // The starting weights of a seed, the same bits everywhere.
  absl::Status Initialize(uint64_t seed);

  // A tensor's values, for the host to read and write. What is written counts
  // after ParametersChanged().
  absl::Span<float> parameter(size_t tensor);
  absl::Status ParametersChanged();

  // A tensor's gradient; for statistics the batch's mean and E[x^2]. Valid
  // from on_ready(tensor), or from the end of ForwardBackward, to its next
  // call.
  absl::Span<const float> gradient(size_t tensor) const;

  // Computes one micro-batch of n samples: `images` [n, channels, height,
  // width], `labels` below the number of classes.  REQUIRES: 0 < n <=
  // batch_max(). Loss gradients are multiplied by `scale`, and statistics
  // weigh n * scale; `first` starts the gradients anew, otherwise this
  // micro-batch adds to them. So with scale = 1 / (samples of the whole batch)
  // the micro-batches sum up to the batch's mean gradient.
  //
  // on_ready, if not null, is called with the index of each tensor as soon as
  // its gradient is final, last layer first, so that it can be sent while the
  // rest is still computed. If the loss is not finite, it is returned before
  // on_ready is called at all, and the gradients are undefined.
  absl::StatusOr<BatchLoss> ForwardBackward(
      const float* images, const uint8_t* labels, int n, float scale,
      bool first, const std::function<void(size_t)>& on_ready = nullptr);

  // Multiplies all gradients: when a batch ends after fewer micro-batches than
  // `scale` was meant for.
  absl::Status ScaleGradients(float factor);

  // Loss and hits, batch normalization using the statistics tensors.
  absl::StatusOr<BatchLoss> Evaluate(const float* images, const uint8_t* labels,
                                     int n);

 private:
  Model(Chain chain, Backend* backend, int batch_max)
      : chain_(std::move(chain)), backend_(*backend), batch_max_(batch_max) {}

  absl::Status Allocate();
  // Uploads, runs the chain forward, and reads the loss back.
  absl::StatusOr<BatchLoss> Forward(const Pass& pass, const float* images,
                                    const uint8_t* labels, float scale);
  absl::Status Backward(const Pass& pass,
                        const std::function<void(size_t)>& on_ready);
  DeviceSpan Part(const Buffer& all, size_t tensor) const;

  Chain chain_;
  Backend& backend_;
  const int batch_max_;
  std::vector<TensorSpec> specs_;
  std::vector<InitialValue> initials_;
  std::vector<int64_t> offsets_;  // Of the tensors, in floats; one more: all.

  std::unique_ptr<Buffer> values_;
  std::unique_ptr<Buffer> gradients_;
  std::unique_ptr<Buffer> images_;
  std::unique_ptr<Buffer> logits_;
  std::unique_ptr<Buffer> dlogits_;
  std::unique_ptr<Buffer> outcome_;  // Losses, then hits, of every sample.
  std::unique_ptr<Buffer> outcome_host_;
  // Copies for the host where it cannot see the device's memory; else null.
  std::unique_ptr<Buffer> values_host_;
  std::unique_ptr<Buffer> gradients_host_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_MODEL_MODEL_H_
