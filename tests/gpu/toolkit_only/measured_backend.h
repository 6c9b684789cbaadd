#ifndef PACELINE_TESTS_GPU_TOOLKIT_ONLY_MEASURED_BACKEND_H_
#define PACELINE_TESTS_GPU_TOOLKIT_ONLY_MEASURED_BACKEND_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "gpu/backend.h"

namespace paceline {

// What operations of one kind came to.
struct Cost {
  int calls = 0;
  double seconds = 0;
  double operations = 0;  // Multiplications and additions of matrix products.
  // That must at least be moved: what is read and written by every pass.
  double bytes = 0;
};

// Another backend, each of its operations waited for, timed and counted. Steps
// are not repeated from memory, so that all of them are seen.
class MeasuredBackend : public Backend {
 public:
  // `inner` outlives it.
  explicit MeasuredBackend(Backend* inner) : inner_(*inner) {}

  // By kind.
  const std::map<std::string, Cost>& costs() const { return costs_; }
  void Forget() { costs_.clear(); }

  absl::string_view name() const override { return inner_.name(); }
  bool host_visible() const override { return inner_.host_visible(); }
  absl::StatusOr<std::unique_ptr<Buffer>> Allocate(int64_t size) override {
    return inner_.Allocate(size);
  }
  absl::StatusOr<std::unique_ptr<Buffer>> AllocateHost(int64_t size) override {
    return inner_.AllocateHost(size);
  }
  void Upload(Lane lane, absl::Span<const float> from, DeviceSpan to) override {
    inner_.Upload(lane, from, to);
  }
  void Download(Lane lane, DeviceView from, absl::Span<float> to) override {
    inner_.Download(lane, from, to);
  }
  absl::StatusOr<std::unique_ptr<Mark>> MakeMark() override {
    return inner_.MakeMark();
  }
  void Set(Mark& mark, Lane lane) override { inner_.Set(mark, lane); }
  void Follow(Lane lane, const Mark& mark) override {
    inner_.Follow(lane, mark);
  }
  absl::Status Await(const Mark& mark) override { return inner_.Await(mark); }
  absl::Status Synchronize() override { return inner_.Synchronize(); }
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
  // Sizes in floats.
  void Measure(const char* kind, int64_t operations, int64_t floats,
               const std::function<void()>& run);

  Backend& inner_;
  std::map<std::string, Cost> costs_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_GPU_TOOLKIT_ONLY_MEASURED_BACKEND_H_
