#ifndef PACELINE_GPU_CUDA_CUDA_BACKEND_H_
#define PACELINE_GPU_CUDA_CUDA_BACKEND_H_

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <memory>

#include "gpu/backend.h"
#include "gpu/cuda/cuda_memory.h"
#include "gpu/cuda/cuda_stream.h"
#include "gpu/gpu_device.h"

namespace paceline {

// The backend on an NVIDIA GPU: matrix products by cuBLAS, everything else by
// kernels of its own, each lane a stream. Reductions have a fixed
// order and no operation adds atomically, so that equal calls give equal bits.
// Its methods stand in one file per operation.
class CudaBackend : public Backend {
 public:
  // UNAVAILABLE: FindCudaDevice(). RESOURCE_EXHAUSTED: the card is full.
  static absl::StatusOr<std::unique_ptr<CudaBackend>> Create(
      const BackendOptions& options);
  ~CudaBackend() override;
  CudaBackend(const CudaBackend&) = delete;
  CudaBackend& operator=(const CudaBackend&) = delete;

  const GpuDevice& device() const { return device_; }

  absl::string_view name() const override;
  bool host_visible() const override;
  absl::StatusOr<std::unique_ptr<Buffer>> Allocate(int64_t size) override;
  absl::StatusOr<std::unique_ptr<Buffer>> AllocateHost(int64_t size) override;
  void Upload(Lane lane, absl::Span<const float> from, DeviceSpan to) override;
  void Download(Lane lane, DeviceView from, absl::Span<float> to) override;
  absl::StatusOr<std::unique_ptr<Mark>> MakeMark() override;
  void Set(Mark& mark, Lane lane) override;
  void Follow(Lane lane, const Mark& mark) override;
  absl::Status Await(const Mark& mark) override;
  absl::Status Synchronize() override;
  std::unique_ptr<RepeatedStep> MakeRepeatedStep() override;
  void Fill(float value, DeviceSpan y) override;
  void Copy(DeviceView x, DeviceSpan y) override;
  void Axpy(float alpha, DeviceView x, DeviceSpan y) override;
  void Scale(float alpha, DeviceSpan y) override;
  void Pack(DType dtype, DeviceView x, DeviceSpan packed) override;
  void Gemm(const GemmShape& shape, float alpha, DeviceView a, DeviceView b,
            float beta, DeviceSpan c) override;
  void AddBias(const BiasShape& shape, DeviceView bias, DeviceSpan y) override;
  void ReduceBias(const BiasShape& shape, DeviceView dy, float beta,
                  DeviceSpan dbias) override;
  void ConvForward(const ConvShape& shape, DeviceView x, DeviceView weights,
                   DeviceView bias, DeviceSpan y) override;
  void ConvBackwardWeights(const ConvShape& shape, DeviceView x, DeviceView dy,
                           float beta, DeviceSpan dweights) override;
  void ConvBackwardData(const ConvShape& shape, DeviceView weights,
                        DeviceView dy, DeviceSpan dx) override;
  void MaxPoolForward(const PoolShape& shape, DeviceView x,
                      DeviceSpan y) override;
  void MaxPoolBackward(const PoolShape& shape, DeviceView x, DeviceView dy,
                       DeviceSpan dx) override;
  void AvgPoolForward(const PoolShape& shape, DeviceView x,
                      DeviceSpan y) override;
  void AvgPoolBackward(const PoolShape& shape, DeviceView dy,
                       DeviceSpan dx) override;
  void ReluForward(DeviceView x, DeviceSpan y) override;
  void ReluBackward(DeviceView y, DeviceView dy, DeviceSpan dx) override;
  void BatchNormForward(const BatchNormShape& shape, DeviceView x,
                        DeviceView scale, DeviceView shift, DeviceSpan mean,
                        DeviceSpan variance, DeviceSpan y) override;
  void BatchNormInference(const BatchNormShape& shape, DeviceView x,
                          DeviceView scale, DeviceView shift, DeviceView mean,
                          DeviceView mean_square, DeviceSpan y) override;
  void BatchNormBackward(const BatchNormShape& shape, DeviceView x,
                         DeviceView scale, DeviceView shift, DeviceView mean,
                         DeviceView variance, DeviceView dy, float beta,
                         DeviceSpan dscale, DeviceSpan dshift,
                         DeviceSpan dx) override;
  void BatchNormMoments(float weight, DeviceView mean, DeviceView variance,
                        float beta, DeviceSpan mean_sum,
                        DeviceSpan mean_square_sum) override;
  void SwapLeading(int64_t first, int64_t second, int64_t inner, DeviceView x,
                   DeviceSpan y) override;
  void AddShortcut(const ShortcutShape& shape, DeviceView x,
                   DeviceSpan y) override;
  void AddShortcutGradient(const ShortcutShape& shape, DeviceView dy,
                           DeviceSpan dx) override;
  void SoftmaxCrossEntropy(const LossShape& shape, DeviceView logits,
                           DeviceView labels, float scale, DeviceSpan dlogits,
                           DeviceSpan loss, DeviceSpan correct) override;
  void ApplySgd(const SgdStep& step, DeviceView gradient, DeviceSpan velocity,
                DeviceSpan weights) override;

 private:
  // A matrix of rows that lie `row` floats apart.
  struct Matrix {
    const float* data;
    int64_t row;
  };

  friend class CudaStep;

  // By lane.
  using Streams = std::array<CudaStream, 3>;

  CudaBackend(GpuDevice device, cublasComputeType_t compute, Streams streams);

  absl::Status Begin(double memory_fraction);
  // For what is queued, on a thread whose current device is this one.
  cudaStream_t Stream(Lane lane = Lane::kCompute);
  // Keeps the first error for Await() and Synchronize().
  void Note(const absl::Status& status);
  // What the last launch of `kernel` came to.
  void Launched(const char* kernel);
  // Product of row-major matrices; c's rows lie `c_row` floats apart.
  void Multiply(const GemmShape& shape, float alpha, Matrix a, Matrix b,
                float beta, float* c, int64_t c_row);
  // At least `floats` of scratch, which the next call may give to another; null
  // if there is no memory, which Synchronize() then says.
  float* Scratch(int64_t floats);

  const GpuDevice device_;
  const cublasComputeType_t compute_;
  Streams streams_;
  cublasHandle_t cublas_ = nullptr;
  std::unique_ptr<CudaMemory> memory_;
  // cuBLAS's own would be allocated when it pleases, also while a step is
  // remembered. Before memory_ in destruction, as scratch_.
  std::unique_ptr<Buffer> workspace_;
  // Grows to the largest that was needed and stays, so that a training step
  // allocates nothing.
  std::unique_ptr<Buffer> scratch_;
  // How often scratch_ has moved: what remembers its address is stale then.
  int64_t scratch_moves_ = 0;
  absl::Status status_;
};

}  // namespace paceline

#endif  // PACELINE_GPU_CUDA_CUDA_BACKEND_H_
