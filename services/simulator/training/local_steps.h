#ifndef PACELINE_SERVICES_SIMULATOR_TRAINING_LOCAL_STEPS_H_
#define PACELINE_SERVICES_SIMULATOR_TRAINING_LOCAL_STEPS_H_

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "services/worker/model/model.h"

namespace paceline {

// Steps of plain SGD at a worker, of which it pushes how far they came, as a
// program with `local=torch.optim.SGD(...)` does (DiLoCo; Douillard et al.,
// 2023, arXiv 2311.08105, with SGD inside). Thread-compatible.
class LocalSteps {
 public:
  // `model` outlives it. REQUIRES: rate > 0.
  LocalSteps(Model* model, double rate);

  // The model has the weights that were pulled.
  void Begin();
  // The model has the gradients of a micro-batch, which is `share` of all
  // samples: moves the weights. The errors of Model::ParametersChanged().
  absl::Status Step(double share);
  // The last step was taken.
  void End();

  // What is pushed for a tensor, after End(): the weights at Begin() minus
  // those after the last step, or a statistic's mean over the samples.
  absl::Span<const float> pushed(size_t tensor) const {
    return pushed_[tensor];
  }

 private:
  Model& model_;
  const float rate_;
  std::vector<std::vector<float>> pushed_;  // Until End(): where it began.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_SIMULATOR_TRAINING_LOCAL_STEPS_H_
