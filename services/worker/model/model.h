#ifndef PACELINE_SERVICES_WORKER_MODEL_MODEL_H_
#define PACELINE_SERVICES_WORKER_MODEL_MODEL_H_

#include <cstddef>
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
#include "services/worker/model/batch_staging.h"
#include "services/worker/model/chain.h"
#include "services/worker/model/tensor.h"

namespace paceline {

// Tensors [first, end), which lie one behind the other, floats [offset, offset
// + size) of all gradients.
struct GradientBucket {
  size_t first = 0;
  size_t end = 0;
  int64_t offset = 0;
  int64_t size = 0;

  bool operator==(const GradientBucket&) const = default;
};

// Gradients leave a device in pieces that are worth a copy (Li et al., "PyTorch
// Distributed: Experiences on Accelerating Data Parallel Training", 2020,
// section 3.2.2): the tensors from the last to the first, as the backward pass
// finishes them, each bucket of at least `least` floats but the last one.
// `offsets`: where each tensor begins, and at the end where all of them end.
std::vector<GradientBucket> MakeBuckets(absl::Span<const int64_t> offsets,
                                        int64_t least);

// What a micro-batch came to. The loss is the cross-entropy in nats.
struct BatchLoss {
  double loss_sum = 0;
  int correct = 0;
};

// What a micro-batch's computation calls back, in the calling thread. Each may
// be null.
struct StepCalls {
  // With the index of each tensor as soon as its gradient is final and the host
  // can read it, last tensor first, so that it can be sent while the rest is
  // still computed. Without it gradients stay on the device: FetchGradients().
  std::function<void(size_t)> on_ready = nullptr;
  // Once, when everything has been queued: the next micro-batch can be staged
  // here.
  std::function<void()> meanwhile = nullptr;
  // After each tensor where the host computes, so that it can let others go
  // first. With it, all has been computed when ComputeStaged returns, and its
  // time is the computation's.
  std::function<void()> between_tensors = nullptr;
};

// A network with its parameters and gradients on one backend. The same calls
// on the same values give the same bits.
//
// Where the host does not see the device's memory, three things go on beside
// computation: micro-batches go up, each beside the computation of the one in
// front of it; parameters go up in buckets as they arrive; gradients come down
// in buckets while the rest of the backward pass goes on.
//
// Thread-compatible.
class Model {
 public:
  // `name` is one of Architectures(). INVALID_ARGUMENT: no such model (the
  // message lists them), images too small for it, fewer than 2 or more than
  // 256 classes, or batch_max below 1. RESOURCE_EXHAUSTED: no memory. `backend`
  // must outlive the model, whose parameters are zero until Initialize. `wire`
  // is how wire_gradient() is written.
  //
  // With an `original`, which is of the same network, on a backend of the same
  // kind, and outlives it, the model is a replica: parameter() is the
  // original's, and has to be told of to both. Its wire is fp32.
  static absl::StatusOr<std::unique_ptr<Model>> Create(
      absl::string_view name, const ImageShape& input, int classes,
      Backend* backend, int batch_max, DType wire = DType::kF32,
      Model* original = nullptr);

  // A model of the caller's own network, from images to flat logits.
  static absl::StatusOr<std::unique_ptr<Model>> FromChain(
      Chain chain, Backend* backend, int batch_max, DType wire = DType::kF32,
      Model* original = nullptr);

  // Waits for what the device still does with the model's memory.
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const std::vector<TensorSpec>& tensors() const { return specs_; }
  int batch_max() const { return batch_max_; }
  bool host_visible() const { return backend_.host_visible(); }

  // The starting weights of a seed, the same bits everywhere.
  absl::Status Initialize(uint64_t seed);

  // A tensor's values, for the host to read and write. What is written counts
  // after ParametersChanged(), and goes to a device then, but for what went
  // there when ParameterArrived() said so. OK always: what goes wrong with the
  // copy, the next computation says.
  absl::Span<float> parameter(size_t tensor);
  void ParameterArrived(size_t tensor);
  absl::Status ParametersChanged();
  // The same, of values that are new whatever ParameterArrived() has said.
  absl::Status ParametersReplaced();

  // A tensor's gradient; for statistics the batch's mean and E[x^2]. Valid from
  // on_ready(tensor), or from FetchGradients(), to the next ComputeStaged().
  // REQUIRES: the wire is fp32, or the host sees the device's memory.
  absl::Span<const float> gradient(size_t tensor) const;
  // The gradient as it goes over the wire.
  absl::string_view wire_gradient(size_t tensor) const;

  // Brings a micro-batch of n samples to the device: `images` [n, channels,
  // height, width], `labels` below the number of classes. The images must stay
  // until it was computed.  REQUIRES: 0 < n <= batch_max(); fewer than two are
  // staged or being computed.
  void Stage(const float* images, const uint8_t* labels, int n) {
    staging_.Stage(images, labels, n);
  }
  // Forgets what is staged.
  void DropStaged() { staging_.Drop(); }

  // Computes the oldest micro-batch that is staged. Loss gradients are
  // multiplied by `scale`, and statistics weigh n * scale; `first` starts the
  // gradients anew, otherwise this micro-batch adds to them. So with scale = 1
  // / (samples of the whole batch) the micro-batches sum up to the batch's mean
  // gradient. If the loss is not finite, it is returned before on_ready is
  // called at all, and the gradients are undefined.
  absl::StatusOr<BatchLoss> ComputeStaged(float scale, bool first,
                                          const StepCalls& calls = {});

  // DropStaged, Stage and ComputeStaged.
  absl::StatusOr<BatchLoss> ForwardBackward(
      const float* images, const uint8_t* labels, int n, float scale,
      bool first, const std::function<void(size_t)>& on_ready = nullptr);

  // Multiplies all gradients: when a batch ends after fewer micro-batches than
  // `scale` was meant for.
  void ScaleGradients(float factor);

  // Why the device runs the last step call by call instead of repeating it; OK
  // if it repeats it, or does not try.
  absl::Status repeat_obstacle() const;

  // Makes gradient() valid for all tensors.
  absl::Status FetchGradients();

  // Adds a replica's gradients to those of its original, whose FetchGradients()
  // says what went wrong; until then these stay as they are.
  // REQUIRES: it is a replica, and FetchGradients() was the last call.
  void AddToOriginal();

  // Loss and hits, batch normalization using the statistics tensors. Drops what
  // is staged.
  absl::StatusOr<BatchLoss> Evaluate(const float* images, const uint8_t* labels,
                                     int n);

 private:
  Model(Chain chain, Backend* backend, int batch_max, DType wire,
        Model* original)
      : chain_(std::move(chain)),
        backend_(*backend),
        batch_max_(batch_max),
        wire_(wire),
        original_(original) {}

  // What a repeated step depends on, beside the model's own memory.
  struct StepKey {
    int batch = 0;
    int slot = 0;
    float scale = 0;
    bool first = false;
    bool training = false;
    bool fetching = false;

    bool operator==(const StepKey&) const = default;
  };

  // What goes to the device, and what comes back, at one stroke.
  struct Bucket {
    GradientBucket part;
    size_t waiting = 0;  // For so many parameters, since it was sent.
    bool sent = false;   // And nothing of it arrived since.
    std::unique_ptr<Mark> computed;
    std::unique_ptr<Mark> arrived;
  };

  absl::Status Allocate();
  absl::Status AllocateHostSide(int64_t floats);
  // Where the host sees the device's memory, and where it does not.
  absl::StatusOr<BatchLoss> ComputeHere(const StagedBatch& batch,
                                        const Pass& pass, float scale,
                                        const StepCalls& calls);
  absl::StatusOr<BatchLoss> ComputeThere(const StagedBatch& batch,
                                         const Pass& pass, float scale,
                                         const StepCalls& calls);
  // Queues all of a step; the copies to the host between its operations.
  void Queue(RepeatedStep& step, const StagedBatch& batch, Pass pass,
             float scale, bool fetching);
  void Forward(const StagedBatch& batch, const Pass& pass, float scale);
  void Backward(const StagedBatch& batch, const Pass& pass);
  // Behind what kCompute was given so far.
  void FetchOutcome(int batch);
  void FetchBucket(size_t bucket);
  void Download(Lane lane, int64_t offset, int64_t size);
  RepeatedStep& StepOf(const StepKey& key);
  void CopyToDevice(Bucket& bucket);
  BatchLoss LossOf(int batch, const Buffer& outcome) const;
  DeviceSpan Part(const Buffer& all, size_t tensor) const;
  // Floats [offset, offset + size) of the gradients, as they go over the wire.
  DeviceSpan Packed(const Buffer& all, int64_t offset, int64_t size) const;
  // Writes them into packed_, unless the wire is fp32.
  void Pack(int64_t offset, int64_t size);

  Chain chain_;
  Backend& backend_;
  const int batch_max_;
  const DType wire_;
  Model* const original_;  // Null unless it is a replica.
  std::vector<TensorSpec> specs_;
  std::vector<InitialValue> initials_;
  std::vector<int64_t> offsets_;  // Where each tensor begins, in floats; the
                                  // last: where all end.

  BatchStaging staging_;
  std::shared_ptr<Buffer> values_;  // The original's if the host sees it.
  std::unique_ptr<Buffer> gradients_;
  std::unique_ptr<Buffer>
      packed_;  // The gradients for the wire; null where that is fp32.
  std::unique_ptr<Buffer> logits_;
  std::unique_ptr<Buffer> dlogits_;
  std::unique_ptr<Buffer> outcome_;  // Losses, then hits, of every sample.

  // The rest is empty where the host sees the device's memory.
  std::shared_ptr<Buffer> values_host_;     // A replica's is its original's.
  std::unique_ptr<Buffer> gradients_host_;  // As they go over the wire.
  std::unique_ptr<Buffer> outcome_host_;
  std::unique_ptr<Buffer> carried_;  // A replica's, on the original's device.
  // By tensor: its parameter came, and its bucket was not sent since.
  std::vector<bool> arrived_;
  std::vector<size_t> bucket_of_;  // By tensor.
  std::unique_ptr<Mark> values_filled_;
  std::unique_ptr<Mark> values_read_;
  std::vector<Bucket> buckets_;  // As the backward pass fills them.
  std::unique_ptr<Mark> outcome_computed_;
  std::unique_ptr<Mark> outcome_arrived_;
  std::vector<std::pair<StepKey, std::unique_ptr<RepeatedStep>>> steps_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_MODEL_MODEL_H_
