#ifndef PACELINE_TESTS_GPU_TWINS_H_
#define PACELINE_TESTS_GPU_TWINS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu/backend.h"
#include "gtest/gtest.h"

namespace paceline {

// One operation as both twins are to do it: what it reads, and how large what
// it writes is.
struct TwinCase {
  using Run = std::function<void(Backend& backend,
                                 const std::vector<DeviceView>& inputs,
                                 const std::vector<DeviceSpan>& outputs)>;

  std::string name;
  std::vector<std::vector<float>> inputs;
  std::vector<int64_t> outputs;  // Sizes. They hold poison before.
  Run run;
  // The result is linear in its inputs, so that an element may be as wrong as
  // its terms are large: those are what the operation makes of magnitudes.
  bool linear = false;
};

// Compares the CUDA backend with its CPU twin. Skipped, visibly, where there is
// no GPU.
class TwinTest : public ::testing::TestWithParam<Precision> {
 protected:
  void SetUp() override;

  // What the precision allows: of the 2-norm, and of each element's terms.
  double tolerance() const;

  // Runs the case on both and compares all outputs, the poison around them on
  // the device included.
  void Compare(const TwinCase& twin_case);

  std::unique_ptr<Backend> cpu_;
  std::unique_ptr<Backend> cuda_;
};

// |a - b| / |b| in 2-norms; 0 if both are nothing.
double RelativeError(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace paceline

#endif  // PACELINE_TESTS_GPU_TWINS_H_
