#ifndef PACELINE_TESTS_GPU_CONFORMANCE_H_
#define PACELINE_TESTS_GPU_CONFORMANCE_H_

#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gpu/backend.h"
#include "gtest/gtest.h"
#include "tests/gpu/device_memory.h"

namespace paceline {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Runs a test on every backend. What is right is said by naive loops in the
// tests, so that the CPU twin itself can fail.
class ConformanceTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto backend = MakeBackend(GetParam());
    // Shown in the report: a skipped GPU test must not look like a passed one.
    if (absl::IsFailedPrecondition(backend.status()) ||
        absl::IsUnavailable(backend.status())) {
      GTEST_SKIP() << backend.status();
    }
    ASSERT_TRUE(backend.ok()) << backend.status();
    backend_ = *std::move(backend);
  }

  std::unique_ptr<Backend> backend_;
};

inline float Relu(float value) { return value < 0 ? 0.0f : value; }

// Element by element, within tolerance * (1 + |want|).
inline void ExpectNear(const std::vector<float>& got,
                       const std::vector<float>& want, float tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    // Written so that NaN fails.
    ASSERT_TRUE(std::abs(got[i] - want[i]) <=
                tolerance * (1 + std::abs(want[i])))
        << "element " << i << ": " << got[i] << ", want " << want[i];
  }
}

#define PACELINE_ON_EVERY_BACKEND(suite)                                    \
  INSTANTIATE_TEST_SUITE_P(Backends, suite, testing::Values("cpu", "cuda"), \
                           [](const auto& spec) { return spec.param; })

}  // namespace paceline

#endif  // PACELINE_TESTS_GPU_CONFORMANCE_H_
