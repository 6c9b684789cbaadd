#include "tests/services/worker/model/gradient_check.h"

#include <cmath>
#include <memory>
#include <utility>

#include "common/check.h"
#include "common/permutation.h"
#include "common/rng.h"
#include "gpu/backend.h"

namespace paceline {
namespace {

// A chain with everything around it that one pass needs.
class Rig {
 public:
  Rig(Chain chain, const GradientCheck& check)
      : chain_(std::move(chain)),
        batch_(check.batch),
        backend_(*MakeBackend("cpu")),
        x_(New(SpacedOut(batch_ * chain_.input().size(), check.seed))),
        y_(New(batch_ * chain_.output().size())),
        dy_(New(Random(batch_ * chain_.output().size(), check.seed + 1))),
        dx_(New(x_.size)) {
    plans_ = chain_.Plan();
    for (const TensorPlan& plan : plans_) {
      const DeviceSpan value =
          New(Random(plan.spec.size, check.seed + 2 + tensors_.size()));
      tensors_.push_back({tensors_.size(), value, New(plan.spec.size)});
    }
    chain_.Bind(tensors_);
    CHECK(chain_.Allocate(*backend_, batch_).ok());
  }

  double Objective() {
    const Pass pass{.backend = *backend_, .batch = batch_, .training = true};
    chain_.Forward(pass, x_, y_);
    double sum = 0;
    for (int64_t i = 0; i < y_.size; ++i)
      sum += double{y_.data[i]} * dy_.data[i];
    return sum;
  }

  std::map<std::string, double> Errors(float step) {
    Objective();
    const Pass pass{.backend = *backend_, .batch = batch_, .training = true};
    chain_.Backward(pass, x_, dy_, dx_);
    std::map<std::string, double> errors;
    errors["input"] = Error(x_, dx_, step);
    for (size_t i = 0; i < plans_.size(); ++i) {
      if (plans_[i].spec.kind == TensorKind::kStatistic) continue;
      errors[plans_[i].spec.name] =
          Error(tensors_[i].value, tensors_[i].gradient, step);
    }
    return errors;
  }

 private:
  static std::vector<float> Random(int64_t size, uint64_t seed) {
    Rng rng(seed);
    std::vector<float> values(size);
    for (float& value : values) value = static_cast<float>(2 * rng.Unit() - 1);
    return values;
  }

  DeviceSpan New(int64_t size) {
    buffers_.push_back(*backend_->Allocate(size));
    return buffers_.back()->span();
  }

  DeviceSpan New(const std::vector<float>& values) {
    const DeviceSpan span = New(static_cast<int64_t>(values.size()));
    backend_->Upload(Lane::kCompute, values, span);
    return span;
  }

  double Error(DeviceSpan values, DeviceView gradient, float step) {
    double distance = 0, numeric_length = 0, length = 0;
    for (int64_t i = 0; i < values.size; ++i) {
      const float old = values.data[i];
      values.data[i] = old + step;
      const double above = Objective();
      values.data[i] = old - step;
      const double below = Objective();
      values.data[i] = old;
      const double numeric = (above - below) / (2 * double{step});
      distance += std::pow(numeric - gradient.data[i], 2);
      numeric_length += numeric * numeric;
      length += double{gradient.data[i]} * gradient.data[i];
    }
    CHECK(numeric_length > 0);  // Or the check would say nothing.
    return std::sqrt(distance) /
           (std::sqrt(numeric_length) + std::sqrt(length));
  }

  Chain chain_;
  const int64_t batch_;
  std::unique_ptr<Backend> backend_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  DeviceSpan x_, y_, dy_, dx_;
  std::vector<TensorPlan> plans_;
  std::vector<BoundTensor> tensors_;
};

}  // namespace

std::map<std::string, double> GradientErrors(Chain chain,
                                             const GradientCheck& check) {
  return Rig(std::move(chain), check).Errors(check.step);
}

std::vector<float> SpacedOut(int64_t size, uint64_t seed) {
  std::vector<float> values;
  for (const uint32_t rank :
       EpochPermutation(seed, 0, static_cast<uint32_t>(size))) {
    const auto middle = static_cast<float>(size) / 2;
    values.push_back((static_cast<float>(rank) + 0.5f - middle) * 0.0201f);
  }
  return values;
}

}  // namespace paceline
