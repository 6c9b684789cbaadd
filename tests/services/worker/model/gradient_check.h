#ifndef PACELINE_TESTS_SERVICES_WORKER_MODEL_GRADIENT_CHECK_H_
#define PACELINE_TESTS_SERVICES_WORKER_MODEL_GRADIENT_CHECK_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "services/worker/model/chain.h"

namespace paceline {

// How wrong a chain's gradients are: for each weight tensor, and for "input",
// the distance between the gradient that Backward computes and the one from
// central differences, divided by the sum of their lengths. About 1e-3 for a
// right one (floats), and near half the error for one that is off by a factor.
//
// The function that is differentiated is the sum of the outputs, each times a
// random factor.
struct GradientCheck {
  int64_t batch = 3;
  uint64_t seed = 1;
  float step = 5e-3f;
};
std::map<std::string, double> GradientErrors(Chain chain,
                                             const GradientCheck& check = {});

// Numbers in random order, 0.0201 apart, around zero but not at it: no step
// moves one over another, or over zero, where pools and ReLUs have kinks.
std::vector<float> SpacedOut(int64_t size, uint64_t seed);

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_WORKER_MODEL_GRADIENT_CHECK_H_
