#ifndef PACELINE_GPU_BACKEND_H_
#define PACELINE_GPU_BACKEND_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/tensor/dtype.h"
#include "gpu/device_span.h"
#include "gpu/lanes.h"
#include "gpu/shapes.h"

namespace paceline {

// Floats of memory that `count` elements of `dtype` take.
constexpr int64_t PackedSize(DType dtype, int64_t count) {
  const size_t bytes = EncodedSize(dtype, static_cast<size_t>(count));
  return static_cast<int64_t>((bytes + 3) / 4);
}

// Memory of one backend, given back when it is destroyed. It must not outlive
// the backend that made it, and nothing that kUpload or kDownload was given may
// still use it.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual DeviceSpan span() const = 0;
};

// The arithmetic of one worker on one device. Data stays in the backend's
// buffers between operations. Operations run in the order of the calls, copies
// in that of their lane, and may be queued: what went wrong with them, Await()
// and Synchronize() say. Shapes that do not fit their spans are bugs and end
// the process.
//
// CpuBackend is the reference. Another backend is right when it passes
// the conformance tests in tests/gpu, which compare it with the reference.
// The same calls on the same values give the same bits every time.
//
// Thread-compatible: one thread at a time.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual absl::string_view name() const = 0;

  // True if the host may read and write buffers through their pointers.
  virtual bool host_visible() const = 0;

  // `size` zeros, aligned to 64 bytes. RESOURCE_EXHAUSTED when the device has
  // no room.
  virtual absl::StatusOr<std::unique_ptr<Buffer>> Allocate(int64_t size) = 0;

  // Memory of the host that the device copies to and from at its full speed,
  // while other operations go on. `size` zeros; RESOURCE_EXHAUSTED.
  virtual absl::StatusOr<std::unique_ptr<Buffer>> AllocateHost(
      int64_t size) = 0;

  // Copies in and out, in the order of `lane`. The host's memory must stay
  // until a mark behind it was awaited, or Synchronize().
  virtual void Upload(Lane lane, absl::Span<const float> from,
                      DeviceSpan to) = 0;
  virtual void Download(Lane lane, DeviceView from, absl::Span<float> to) = 0;

  // A mark that is not set: nothing waits for it.
  virtual absl::StatusOr<std::unique_ptr<Mark>> MakeMark() = 0;
  // Moves the mark behind everything that `lane` was given so far.
  virtual void Set(Mark& mark, Lane lane) = 0;
  // What `lane` is given from now on begins when the mark has been passed.
  virtual void Follow(Lane lane, const Mark& mark) = 0;
  // Waits until the mark has been passed. The first error since the last call
  // that returned one, after which the contents of the buffers written
  // meanwhile are undefined.
  virtual absl::Status Await(const Mark& mark) = 0;

  // Waits for everything queued, in all lanes. Errors as Await's.
  virtual absl::Status Synchronize() = 0;

  virtual std::unique_ptr<RepeatedStep> MakeRepeatedStep() = 0;

  // y = value; y = x; y += alpha * x.
  virtual void Fill(float value, DeviceSpan y) = 0;
  virtual void Copy(DeviceView x, DeviceSpan y) = 0;
  virtual void Axpy(float alpha, DeviceView x, DeviceSpan y) = 0;
  virtual void Scale(float alpha, DeviceSpan y) = 0;

  // The bytes of x in `dtype`, as they go over the wire, beginning with the
  // first byte of `packed`, which is PackedSize(dtype, x.size) long. Not kInt8:
  // what that leaves out, the host keeps.
  virtual void Pack(DType dtype, DeviceView x, DeviceSpan packed) = 0;

  // c = alpha * op(a) * op(b) + beta * c. Here and below beta 0 overwrites, so
  // that what was there (even a NaN) does not matter.
  virtual void Gemm(const GemmShape& shape, float alpha, DeviceView a,
                    DeviceView b, float beta, DeviceSpan c) = 0;

  // y[o, c, i] = activation(y[o, c, i] + bias[c]);  dbias[c] = beta * dbias[c]
  // + sum dy[o, c, i].
  virtual void AddBias(const BiasShape& shape, DeviceView bias,
                       DeviceSpan y) = 0;
  virtual void ReduceBias(const BiasShape& shape, DeviceView dy, float beta,
                          DeviceSpan dbias) = 0;

  // Cross-correlation, as every network means it. `bias` may be empty.
  virtual void ConvForward(const ConvShape& shape, DeviceView x,
                           DeviceView weights, DeviceView bias,
                           DeviceSpan y) = 0;
  // dweights = beta * dweights + its gradient; dx is overwritten.
  virtual void ConvBackwardWeights(const ConvShape& shape, DeviceView x,
                                   DeviceView dy, float beta,
                                   DeviceSpan dweights) = 0;
  virtual void ConvBackwardData(const ConvShape& shape, DeviceView weights,
                                DeviceView dy, DeviceSpan dx) = 0;

  // Where a window has equal maxima, the first, row by row, gets the gradient.
  // dx is overwritten.
  virtual void MaxPoolForward(const PoolShape& shape, DeviceView x,
                              DeviceSpan y) = 0;
  virtual void MaxPoolBackward(const PoolShape& shape, DeviceView x,
                               DeviceView dy, DeviceSpan dx) = 0;
  virtual void AvgPoolForward(const PoolShape& shape, DeviceView x,
                              DeviceSpan y) = 0;
  virtual void AvgPoolBackward(const PoolShape& shape, DeviceView dy,
                               DeviceSpan dx) = 0;

  // y = max(x, 0), NaN stays NaN; dx = y > 0 ? dy : 0. In place is allowed.
  virtual void ReluForward(DeviceView x, DeviceSpan y) = 0;
  virtual void ReluBackward(DeviceView y, DeviceView dy, DeviceSpan dx) = 0;

  // y = activation((x - mean) / sqrt(variance + epsilon) * scale + shift)
  // (Ioffe and Szegedy 2015, algorithm 1). Writes the batch's mean and (biased)
  // variance.
  virtual void BatchNormForward(const BatchNormShape& shape, DeviceView x,
                                DeviceView scale, DeviceView shift,
                                DeviceSpan mean, DeviceSpan variance,
                                DeviceSpan y) = 0;
  // Normalizes with variance = mean_square - mean^2 given, as in evaluation.
  virtual void BatchNormInference(const BatchNormShape& shape, DeviceView x,
                                  DeviceView scale, DeviceView shift,
                                  DeviceView mean, DeviceView mean_square,
                                  DeviceSpan y) = 0;
  // `mean` and `variance` as BatchNormForward wrote them; where its activation
  // let nothing pass is computed again, from x, scale and shift. dscale and
  // dshift become beta times themselves plus their gradients; dx is
  // overwritten.
  virtual void BatchNormBackward(const BatchNormShape& shape, DeviceView x,
                                 DeviceView scale, DeviceView shift,
                                 DeviceView mean, DeviceView variance,
                                 DeviceView dy, float beta, DeviceSpan dscale,
                                 DeviceSpan dshift, DeviceSpan dx) = 0;
  // mean_sum = beta * mean_sum + weight * mean, and likewise
  // mean_square_sum with E[x^2] = variance + mean^2.
  virtual void BatchNormMoments(float weight, DeviceView mean,
                                DeviceView variance, float beta,
                                DeviceSpan mean_sum,
                                DeviceSpan mean_square_sum) = 0;

  // y[b, a, :] = x[a, b, :], x [first, second, inner].
  virtual void SwapLeading(int64_t first, int64_t second, int64_t inner,
                           DeviceView x, DeviceSpan y) = 0;

  // y = activation(y + shortcut(x));  dx += the gradient of the sum at dy.
  virtual void AddShortcut(const ShortcutShape& shape, DeviceView x,
                           DeviceSpan y) = 0;
  virtual void AddShortcutGradient(const ShortcutShape& shape, DeviceView dy,
                                   DeviceSpan dx) = 0;

  // loss[b] = -log softmax(logits[b])[label[b]]; correct[b] = 1 if the label
  // has the largest logit (the first of equals), else 0. If dlogits is not
  // empty: dlogits = scale * gradient of the sum of the losses. NaN or
  // +infinity among the logits gives a non-finite loss. REQUIRES: the labels
  // are whole numbers below `classes`.
  virtual void SoftmaxCrossEntropy(const LossShape& shape, DeviceView logits,
                                   DeviceView labels, float scale,
                                   DeviceSpan dlogits, DeviceSpan loss,
                                   DeviceSpan correct) = 0;

  // With d = gradient + weight_decay * weights: velocity = momentum * velocity
  // + d; weights -= rate * velocity, or with Nesterov's momentum (Sutskever et
  // al. 2013, evaluated at the weights) rate * (d + momentum * velocity). Every
  // array is read and written once. `velocity` is empty where the momentum is
  // 0. For training in one process: where there are parameter servers, they
  // apply.
  virtual void ApplySgd(const SgdStep& step, DeviceView gradient,
                        DeviceSpan velocity, DeviceSpan weights) = 0;
};

// How products of matrices are computed on a GPU; sums are fp32 in each. The
// CPU computes in fp32 always.
enum class Precision {
  kF32,
  kTf32,  // Factors rounded to 10 bits: relative errors of about 1e-3.
  kBf16,  // Factors rounded to 7 bits: relative errors of about 4e-3.
};

struct BackendOptions {
  // Threads of the CPU backend's matrix products; a property of the process,
  // the latest backend's holds. One by default: workers share machines, and
  // with one the bits of a result do not depend on the scheduler.
  int threads = 1;
  int device = 0;  // Which GPU, as CUDA counts.
  // The share of the GPU's memory that this backend may take, in (0, 1]:
  // several workers may share a card.
  double memory_fraction = 1;
  Precision precision = Precision::kF32;
};

// "cpu" or "cuda". FAILED_PRECONDITION if that backend was not built in,
// UNAVAILABLE if it was but this machine has no device for it,
// RESOURCE_EXHAUSTED if that is full, and INVALID_ARGUMENT for another name or
// options out of range (threads: 1 to 1024).
absl::StatusOr<std::unique_ptr<Backend>> MakeBackend(
    absl::string_view name, const BackendOptions& options = {});

}  // namespace paceline

#endif  // PACELINE_GPU_BACKEND_H_
