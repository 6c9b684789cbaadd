#include "services/worker/evaluation.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "common/status.h"

namespace paceline {

absl::StatusOr<Evaluation> Evaluate(Model& model, const Dataset& data,
                                    uint32_t samples,
                                    absl::FunctionRef<bool()> go_on) {
  const uint32_t all =
      samples == 0 ? data.size() : std::min(samples, data.size());
  constexpr uint32_t kStep = kEvaluationBatch;
  std::vector<float> images(size_t{kStep} * data.shape().size());
  std::vector<uint8_t> labels(kStep);
  std::vector<uint32_t> indices;
  BatchLoss sum;
  for (uint32_t begin = 0; begin < all; begin += kStep) {
    if (!go_on()) return absl::CancelledError("the evaluation was interrupted");
    indices.resize(std::min(kStep, all - begin));
    std::iota(indices.begin(), indices.end(), begin);
    data.Gather(indices, images.data(), labels.data());
    PACELINE_ASSIGN_OR_RETURN(const BatchLoss part,
                              model.Evaluate(images.data(), labels.data(),
                                             static_cast<int>(indices.size())));
    sum.loss_sum += part.loss_sum;
    sum.correct += part.correct;
  }
  return Evaluation{static_cast<double>(sum.correct) / all, sum.loss_sum / all};
}

}  // namespace paceline
