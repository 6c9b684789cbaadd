#ifndef PACELINE_GPU_CPU_CPU_BACKEND_H_
#define PACELINE_GPU_CPU_CPU_BACKEND_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/backend.h"

namespace paceline {

// The reference backend: plain loops and OpenBLAS, each operation done when
// its call returns. Its methods stand in one file per family: memory and
// elementwise, gemm, conv, pool, batch norm, layout, loss.
class CpuBackend : public Backend {
 public:
  // REQUIRES: threads > 0.
  explicit CpuBackend(int threads);

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
  // The scratch of the convolutions: grows to the largest chunk that was
  // needed and stays, so that a training step allocates nothing.
  std::vector<float> columns_;
};

}  // namespace paceline

#endif  // PACELINE_GPU_CPU_CPU_BACKEND_H_
