#ifndef PACELINE_TESTS_GPU_STEP_CHECK_H_
#define PACELINE_TESTS_GPU_STEP_CHECK_H_

#include <string>

#include "gpu/backend.h"

namespace paceline {

// Runs a step of matrix products and sums twenty times, new numbers going up
// before and results coming down in the middle and at the end, each in a lane
// of its own: whether every run gives what the numbers make, and whether the
// last one was repeated from memory where the host does not see the device's.
// Empty, or what is wrong.
std::string StepDiffers(Backend& backend);

}  // namespace paceline

#endif  // PACELINE_TESTS_GPU_STEP_CHECK_H_
