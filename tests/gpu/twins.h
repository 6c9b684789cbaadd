#ifndef PACELINE_TESTS_GPU_TWINS_H_
#define PACELINE_TESTS_GPU_TWINS_H_

#include <string>
#include <vector>

#include "gpu/backend.h"
#include "tests/gpu/twin_cases.h"

namespace paceline {

// |a - b| / |b| in 2-norms; 0 if both are nothing.
double RelativeError(const std::vector<float>& a, const std::vector<float>& b);

// What a precision may cost: of the 2-norm, and of each element's terms.
double ToleranceOf(Precision precision);

// What is wrong with what `tried` makes of the case, beside `reference`: empty,
// or words. Also what it writes beside its outputs, and whether a second run
// gives the same bits.
std::string Differs(Backend& tried, Backend& reference,
                    const TwinCase& twin_case, double tolerance);

}  // namespace paceline

#endif  // PACELINE_TESTS_GPU_TWINS_H_
