#ifndef PACELINE_TESTS_SERVICES_WORKER_MODEL_PUSHED_GRADIENTS_H_
#define PACELINE_TESTS_SERVICES_WORKER_MODEL_PUSHED_GRADIENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "services/worker/model/model.h"

namespace paceline {

// Computes the batch of `labels` so often that a device repeats it from memory,
// and pushes its gradients while it is computed: whether each has, every time,
// the bits that it has when it is fetched afterwards. Empty, or what is wrong.
std::string PushedGradientsDiffer(Model& model,
                                  const std::vector<float>& images,
                                  const std::vector<uint8_t>& labels);

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_WORKER_MODEL_PUSHED_GRADIENTS_H_
