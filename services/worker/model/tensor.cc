#include "services/worker/model/tensor.h"

#include <cmath>
#include <utility>

namespace paceline {
namespace {

// Uniform in [-b, b] has variance b^2 / 3.
InitialValue UniformOfVariance(double variance) {
  return {.bound = static_cast<float>(std::sqrt(3 * variance))};
}

}  // namespace

InitialValue HeInitial(int64_t fan_in) {
  return UniformOfVariance(2.0 / static_cast<double>(fan_in));
}

InitialValue GlorotInitial(int64_t fan_in, int64_t fan_out) {
  return UniformOfVariance(2.0 / static_cast<double>(fan_in + fan_out));
}

TensorPlan PlanTensor(std::string name, TensorKind kind,
                      std::vector<int64_t> shape, InitialValue initial) {
  int64_t size = 1;
  for (const int64_t extent : shape) size *= extent;
  return {{std::move(name), kind, std::move(shape), size}, initial};
}

}  // namespace paceline
