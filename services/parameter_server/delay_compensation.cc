#include "services/parameter_server/delay_compensation.h"

#include <algorithm>

#include "services/parameter_server/update_kernels.h"

namespace paceline {

void DelayCompensation::Correct(const CompensationTerms& terms,
                                const BlockState& now, const BlockState* pulled,
                                float* gradient) {
  if (!terms.memory.has_value()) {
    if (pulled == nullptr) return;
    CompensateDelay(terms.lambda, now.weights(), pulled->weights(), size_,
                    gradient);
    return;
  }
  absl::MutexLock lock(&mu_);
  const bool first = mean_square_ == nullptr;
  if (first) {
    mean_square_ = MakeFloatBuffer(size_);
    std::fill_n(mean_square_.get(), size_, 0.0f);
  }
  UpdateMeanSquare(first ? 0.0f : *terms.memory, gradient, size_,
                   mean_square_.get());
  if (pulled == nullptr) return;
  CompensateDelayAdaptively(terms.lambda, now.weights(), pulled->weights(),
                            mean_square_.get(), size_, gradient);
}

}  // namespace paceline
