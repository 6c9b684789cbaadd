#include <array>
#include <memory>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/worker/model/chain.h"
#include "services/worker/model/layers.h"
#include "tests/services/worker/model/gradient_check.h"

namespace paceline {
namespace {

using testing::Ge;
using testing::Le;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr double kTolerance = 2e-3;
const auto kRight = Le(kTolerance);  // NOLINT

FeatureShape Images(int64_t channels, int64_t height, int64_t width) {
  return {Layout::kImages, channels, height, width};
}

FeatureShape Planes(int64_t channels, int64_t height, int64_t width) {
  return {Layout::kPlanes, channels, height, width};
}

TEST(LayerGradientTest, Dense) {
  Chain net({.layout = Layout::kFlat, .channels = 7});
  net.Dense("fc", 5);
  EXPECT_THAT(
      GradientErrors(std::move(net)),
      UnorderedElementsAre(Pair("input", kRight), Pair("fc.weight", kRight),
                           Pair("fc.bias", kRight)));
}

TEST(LayerGradientTest, Conv) {
  for (const auto& [kernel, stride, pad] :
       {std::array{3, 1, 1}, std::array{5, 1, 2}, std::array{3, 2, 1},
        std::array{2, 3, 0}}) {
    Chain net(Planes(2, 6, 7));
    net.Conv("conv",
             {.channels = 3, .kernel = kernel, .stride = stride, .pad = pad});
    EXPECT_THAT(
        GradientErrors(std::move(net)),
        UnorderedElementsAre(Pair("input", kRight), Pair("conv.weight", kRight),
                             Pair("conv.bias", kRight)))
        << kernel << " " << stride << " " << pad;
  }
}

TEST(LayerGradientTest, ConvWithoutBias) {
  Chain net(Planes(2, 5, 5));
  net.Conv("conv", {.channels = 3, .kernel = 3, .bias = false});
  EXPECT_THAT(
      GradientErrors(std::move(net)),
      UnorderedElementsAre(Pair("input", kRight), Pair("conv.weight", kRight)));
}

TEST(LayerGradientTest, MaxPool) {
  for (const int64_t side : {6, 7}) {
    Chain net(Planes(2, side, side));
    net.MaxPool(2);
    EXPECT_THAT(GradientErrors(std::move(net)),
                UnorderedElementsAre(Pair("input", kRight)));
  }
}

TEST(LayerGradientTest, OverlappingMaxPool) {
  Chain chain(Planes(2, 7, 7));
  chain.Add(std::make_unique<PoolLayer>(PoolKind::kMax, chain.output(), 3, 2));
  EXPECT_THAT(GradientErrors(std::move(chain)),
              UnorderedElementsAre(Pair("input", kRight)));
}

TEST(LayerGradientTest, AveragePool) {
  for (const int64_t window : {2, 6}) {  // The second one is global.
    Chain net(Planes(3, 6, 6));
    net.AveragePool(window);
    EXPECT_THAT(GradientErrors(std::move(net)),
                UnorderedElementsAre(Pair("input", kRight)));
  }
}

TEST(LayerGradientTest, ReluAndLayouts) {
  Chain net(Images(3, 4, 5));
  net.ToPlanes().Relu().Flatten();
  EXPECT_THAT(GradientErrors(std::move(net)),
              UnorderedElementsAre(Pair("input", kRight)));
}

TEST(LayerGradientTest, BatchNorm) {
  Chain net(Planes(3, 4, 5));
  net.BatchNorm("bn");
  EXPECT_THAT(
      GradientErrors(std::move(net)),
      UnorderedElementsAre(Pair("input", kRight), Pair("bn.scale", kRight),
                           Pair("bn.shift", kRight)));
}

// The ReLU is part of the layer in front of it.
TEST(LayerGradientTest, BatchNormWithRelu) {
  Chain net(Planes(3, 4, 5));
  net.BatchNorm("bn").Relu();
  EXPECT_THAT(
      GradientErrors(std::move(net)),
      UnorderedElementsAre(Pair("input", kRight), Pair("bn.scale", kRight),
                           Pair("bn.shift", kRight)));
}

Chain LinearBranch(int64_t channels, int64_t stride) {
  Chain branch(Planes(2, 6, 6));
  branch.Conv("conv",
              {.channels = channels, .kernel = 3, .stride = stride, .pad = 1});
  return branch;
}

TEST(LayerGradientTest, Residual) {
  for (const auto& [channels, stride] :
       {std::pair{2, 1}, std::pair{6, 2}, std::pair{5, 1}}) {
    Chain net(Planes(2, 6, 6));
    net.Residual(LinearBranch(channels, stride), stride);
    EXPECT_THAT(
        GradientErrors(std::move(net)),
        UnorderedElementsAre(Pair("input", kRight), Pair("conv.weight", kRight),
                             Pair("conv.bias", kRight)));
  }
}

// A layer that forgets a tenth of its gradient.
class WrongLayer final : public Layer {
 public:
  explicit WrongLayer(const FeatureShape& shape) : Layer(shape) {}
  void Forward(const Pass& pass, DeviceView x, DeviceSpan y) override {
    pass.backend.Copy(x, y);
  }
  void Backward(const Pass& pass, DeviceView /*x*/, DeviceView dy,
                DeviceSpan dx) override {
    pass.backend.Fill(0, dx);
    pass.backend.Axpy(0.9f, dy, dx);
  }
};

TEST(LayerGradientTest, TheCheckItselfCanFail) {
  Chain chain(Planes(2, 3, 3));
  chain.Add(std::make_unique<WrongLayer>(chain.output()));
  EXPECT_THAT(GradientErrors(std::move(chain)),
              UnorderedElementsAre(Pair("input", Ge(0.04))));
}

}  // namespace
}  // namespace paceline
