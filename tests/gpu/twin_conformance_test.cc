// The CUDA backend against its CPU twin, in each precision. Skipped, visibly,
// where there is no GPU.

#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/gpu/twins.h"

namespace paceline {
namespace {

std::string NameOf(Precision precision) {
  switch (precision) {
    case Precision::kF32:
      break;
    case Precision::kTf32:
      return "tf32";
    case Precision::kBf16:
      return "bf16";
  }
  return "fp32";
}

class TwinTest
    : public ::testing::TestWithParam<std::tuple<Precision, TwinFamily>> {};

TEST_P(TwinTest, Agree) {
  const auto& [precision, family] = GetParam();
  const auto cuda = MakeBackend("cuda", {.precision = precision});
  if (absl::IsFailedPrecondition(cuda.status()) ||
      absl::IsUnavailable(cuda.status())) {
    GTEST_SKIP() << cuda.status();
  }
  ASSERT_TRUE(cuda.ok()) << cuda.status();
  const auto cpu = *MakeBackend("cpu");
  for (const TwinCase& twin_case : family.cases()) {
    EXPECT_EQ(Differs(**cuda, *cpu, twin_case, ToleranceOf(precision)), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Cuda, TwinTest,
                         testing::Combine(testing::Values(Precision::kF32,
                                                          Precision::kTf32,
                                                          Precision::kBf16),
                                          testing::ValuesIn(TwinFamilies())),
                         [](const auto& spec) {
                           return NameOf(std::get<0>(spec.param)) +
                                  std::get<1>(spec.param).name;
                         });

// The cases themselves are sound: nothing differs from itself, and something
// does from what is wrong.
TEST(TwinCasesTest, TheReferenceAgreesWithItself) {
  const auto cpu = *MakeBackend("cpu");
  for (const TwinFamily& family : TwinFamilies()) {
    for (const TwinCase& twin_case : family.cases()) {
      EXPECT_EQ(Differs(*cpu, *cpu, twin_case, 0), "");
    }
  }
}

// Two devices that are both right differ by roundings. A case that makes more
// of them than it tolerates could not tell which is wrong.
TEST(TwinCasesTest, ARoundingOfTheInputsIsTolerated) {
  const auto cpu = *MakeBackend("cpu");
  const auto other = *MakeBackend("cpu");
  for (const TwinFamily& family : TwinFamilies()) {
    for (TwinCase twin_case : family.cases()) {
      if (twin_case.exact) continue;
      twin_case.run = [&other, run = twin_case.run](Backend& backend,
                                                    const auto& inputs,
                                                    const auto& outputs) {
        if (&backend != other.get()) return run(backend, inputs, outputs);
        std::vector<std::vector<float>> rounded;
        std::vector<DeviceView> views;
        for (const DeviceView& input : inputs) {
          rounded.emplace_back(input.data, input.data + input.size);
          for (size_t i = rounded.size() % 2; i < rounded.back().size();
               i += 2) {
            float& value = rounded.back()[i];
            value = std::nextafter(value, 2 * value);
          }
          views.push_back({rounded.back().data(), input.size});
        }
        return run(backend, views, outputs);
      };
      EXPECT_EQ(Differs(*other, *cpu, twin_case, ToleranceOf(Precision::kF32)),
                "");
    }
  }
}

TEST(TwinCasesTest, WhatIsWrongDiffers) {
  const auto cpu = *MakeBackend("cpu");
  const auto other = *MakeBackend("cpu");
  const auto differs = [&](TwinCase::Run run) {
    return !Differs(*other, *cpu, {"", {{1, 2, 3}}, {3}, std::move(run), true},
                    1e-5)
                .empty();
  };
  EXPECT_FALSE(differs([](Backend& b, const auto& in, const auto& out) {
    b.Copy(in[0], out[0]);
  }));
  EXPECT_TRUE(differs([](Backend&, const auto&, const auto&) {}))
      << "nothing is written";
  EXPECT_TRUE(differs([&](Backend& b, const auto& in, const auto& out) {
    b.Copy(in[0], out[0]);
    if (&b == other.get()) b.Scale(1.001f, out[0]);
  }));
  EXPECT_TRUE(differs([&](Backend& b, const auto& in, const auto& out) {
    b.Copy(in[0], out[0]);
    if (&b == other.get()) b.Fill(0, {out[0].data + 3, 1});
  })) << "beside the output";
}

}  // namespace
}  // namespace paceline
