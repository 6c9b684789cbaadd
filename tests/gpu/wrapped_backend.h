#ifndef PACELINE_TESTS_GPU_WRAPPED_BACKEND_H_
#define PACELINE_TESTS_GPU_WRAPPED_BACKEND_H_

#include <cstdint>
#include <functional>

#include "gpu/backend.h"

namespace paceline {

// A backend whose operations another backend carries out, when and as a
// subclass says in one place. Memory, lanes and steps are the subclass's.
class WrappedBackend : public Backend {
 public:
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

 protected:
  // What an operation comes to.
  struct Work {
    const char* kind;
    int64_t operations;  // Multiplications and additions of matrix products.
    int64_t floats;      // That every pass reads or writes at least.
  };

  // `run` has copies of all that it needs: it may be called later and more
  // than once, always with the backend that does the work.
  virtual void Operate(const Work& work, std::function<void(Backend&)> run) = 0;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_GPU_WRAPPED_BACKEND_H_
