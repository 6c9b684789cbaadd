#include "services/worker/model/model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "common/job/names.h"
#include "common/rng.h"
#include "gmock/gmock.h"
#include "gpu/cpu/cpu_backend.h"
#include "gtest/gtest.h"
#include "services/worker/model/architectures.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr ImageShape kGrey{1, 28, 28};
constexpr ImageShape kColor{3, 32, 32};
constexpr ImageShape kWindow{3, 28, 28};

std::unique_ptr<Backend> Cpu() { return *MakeBackend("cpu"); }

std::vector<float> Images(const ImageShape& shape, int n) {
  Rng rng(11);
  std::vector<float> images(n * shape.size());
  for (float& value : images) value = static_cast<float>(2 * rng.Unit() - 1);
  return images;
}

std::vector<uint8_t> Labels(int n) {
  std::vector<uint8_t> labels(n);
  for (int i = 0; i < n; ++i) labels[i] = static_cast<uint8_t>(i * 3 % 10);
  return labels;
}

// All gradients, one tensor after the other.
std::vector<float> Gradients(const Model& model) {
  std::vector<float> all;
  for (size_t t = 0; t < model.tensors().size(); ++t) {
    const auto gradient = model.gradient(t);
    all.insert(all.end(), gradient.begin(), gradient.end());
  }
  return all;
}

int64_t ParametersOf(absl::string_view name, const ImageShape& shape) {
  const auto backend = Cpu();
  const auto model = *Model::Create(name, shape, 10, backend.get(), 1);
  int64_t sum = 0;
  for (const TensorSpec& spec : model->tensors()) {
    if (spec.kind == TensorKind::kTrained) sum += spec.size;
  }
  return sum;
}

std::string CreateMessage(absl::string_view name, const ImageShape& shape,
                          int classes = 10, int batch = 1) {
  const auto backend = Cpu();
  const auto status =
      Model::Create(name, shape, classes, backend.get(), batch).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

TEST(ModelTest, HasThePublishedSizes) {
  EXPECT_EQ(ParametersOf("logreg", kGrey), 7'850);
  EXPECT_EQ(ParametersOf("mlp", kGrey), 235'146);
  EXPECT_EQ(ParametersOf("lenet5", kGrey), 61'706);
  EXPECT_EQ(ParametersOf("lenet5", {1, 32, 32}), 61'706);
  EXPECT_EQ(ParametersOf("alexnet-small", kColor), 609'258);
  // He et al. 2015, table 6: 0.27 M, 0.46 M and 1.7 M. There is no 50 there.
  EXPECT_EQ(ParametersOf("resnet20", kColor), 269'722);
  EXPECT_EQ(ParametersOf("resnet32", kColor), 464'154);
  EXPECT_EQ(ParametersOf("resnet50", kColor), 755'802);
  EXPECT_EQ(ParametersOf("resnet110", kColor), 1'727'962);
  // As many channels are normalized, in other places.
  EXPECT_EQ(ParametersOf("resnet20v2", kColor), 269'722);
  EXPECT_EQ(ParametersOf("resnet32v2", kColor), 464'154);
  EXPECT_EQ(ParametersOf("resnet50v2", kColor), 755'802);
  EXPECT_EQ(ParametersOf("resnet110v2", kColor), 1'727'962);
  // The last pool leaves one pixel of the windows of crop28_flip, too.
  EXPECT_EQ(ParametersOf("resnet110", kWindow), 1'727'962);
  EXPECT_EQ(ParametersOf("resnet110v2", kWindow), 1'727'962);
}

TEST(ModelTest, NamesItsTensorsInForwardOrder) {
  const auto backend = Cpu();
  const auto model = *Model::Create("lenet5", kGrey, 10, backend.get(), 1);
  std::vector<std::string> names;
  for (const TensorSpec& spec : model->tensors()) names.push_back(spec.name);
  EXPECT_THAT(names,
              ElementsAre("conv1.weight", "conv1.bias", "conv2.weight",
                          "conv2.bias", "fc1.weight", "fc1.bias", "fc2.weight",
                          "fc2.bias", "fc3.weight", "fc3.bias"));
  EXPECT_THAT(model->tensors()[2].shape, ElementsAre(16, 6, 5, 5));
  EXPECT_EQ(model->tensors()[2].size, 2400);
}

// The first block of the second kind takes what is activated already, and its
// last sum is activated by itself (He et al. 2016, appendix).
TEST(ModelTest, ResnetsOfTheSecondKindNormalizeFirst) {
  const auto backend = Cpu();
  const auto model = *Model::Create("resnet20v2", kColor, 10, backend.get(), 1);
  std::vector<std::string> names;
  for (const TensorSpec& spec : model->tensors()) {
    // One of the four of a normalization stands for it.
    const size_t dot = spec.name.rfind('.');
    const std::string what = spec.name.substr(dot + 1);
    if (what == "weight" || what == "scale") {
      names.push_back(spec.name.substr(0, dot));
    }
  }
  EXPECT_THAT(std::vector(names.begin(), names.begin() + 9),
              ElementsAre("conv1", "bn1", "block1_1.conv1", "block1_1.bn2",
                          "block1_1.conv2", "block1_2.bn1", "block1_2.conv1",
                          "block1_2.bn2", "block1_2.conv2"));
  EXPECT_THAT(std::vector(names.end() - 3, names.end()),
              ElementsAre("block3_3.conv2", "bn_last", "fc"));
  // conv1, 18 convolutions in blocks, as many normalizations and one dense.
  EXPECT_EQ(names.size(), 1u + 18 + 19 + 1);
}

TEST(ModelTest, SaysWhatDoesNotFit) {
  EXPECT_THAT(CreateMessage("vgg", kGrey),
              HasSubstr("unknown model \"vgg\"; there are logreg, mlp, "
                        "lenet5, alexnet-small, resnet20, resnet32, resnet50, "
                        "resnet110, resnet20v2, resnet32v2, resnet50v2, "
                        "resnet110v2"));
  EXPECT_THAT(CreateMessage("alexnet-small", {3, 32, 8}),
              HasSubstr("model alexnet-small needs images of at least 16x16, "
                        "the data has 3x32x8"));
  EXPECT_THAT(CreateMessage("mlp", kGrey, 1), HasSubstr("classes"));
  EXPECT_THAT(CreateMessage("mlp", kGrey, 257), HasSubstr("classes"));
  EXPECT_THAT(CreateMessage("mlp", kGrey, 10, 0), HasSubstr("batch"));
}

TEST(ModelTest, TakesTheSmallestImagesThatItPromisesAndWindows) {
  const auto backend = Cpu();
  for (const Architecture& architecture : Architectures()) {
    const int side = architecture.side_min;
    for (const ImageShape& shape : {ImageShape{1, side, side + 1},
                                    ImageShape{3, side, side + 1}, kWindow}) {
      auto model =
          Model::Create(architecture.name, shape, 10, backend.get(), 2);
      ASSERT_TRUE(model.ok()) << model.status();
      ASSERT_TRUE((*model)->Initialize(1).ok());
      const auto loss = (*model)->ForwardBackward(
          Images(shape, 2).data(), Labels(2).data(), 2, 0.5f, true);
      ASSERT_TRUE(loss.ok()) << loss.status();
      EXPECT_GT(loss->loss_sum, 0) << architecture.name;
    }
  }
}

TEST(ModelTest, InitializesFromTheSeedAlone) {
  const auto backend = Cpu();
  const auto a = *Model::Create("lenet5", kGrey, 10, backend.get(), 1);
  const auto b = *Model::Create("lenet5", kGrey, 10, backend.get(), 4);
  ASSERT_TRUE(a->Initialize(7).ok());
  ASSERT_TRUE(b->Initialize(7).ok());
  EXPECT_EQ(a->parameter(2), b->parameter(2));
  // Load-bearing: golden runs rest on these bits.
  EXPECT_EQ(a->parameter(0)[0], -0x1.849658p-3f);
  ASSERT_TRUE(b->Initialize(8).ok());
  EXPECT_NE(a->parameter(2), b->parameter(2));
  // Variance 2 / fan_in, and biases of zero.
  const auto fc1 = a->parameter(4);
  double square = 0;
  for (const float value : fc1) square += double{value} * value;
  EXPECT_NEAR(square / static_cast<double>(fc1.size()), 2.0 / 400, 1e-4);
  for (const float value : a->parameter(5)) EXPECT_EQ(value, 0);
}

TEST(ModelTest, MicroBatchesAddUpToTheBatch) {
  const auto backend = Cpu();
  const auto model = *Model::Create("lenet5", kGrey, 10, backend.get(), 32);
  ASSERT_TRUE(model->Initialize(1).ok());
  const auto images = Images(kGrey, 32);
  const auto labels = Labels(32);
  const auto whole = *model->ForwardBackward(images.data(), labels.data(), 32,
                                             1.0f / 32, true);
  const auto want = Gradients(*model);
  BatchLoss sum;
  for (int at = 0; at < 32;) {
    const int n = std::min(12, 32 - at);  // 12, 12, 8.
    const auto part =
        *model->ForwardBackward(images.data() + at * kGrey.size(),
                                labels.data() + at, n, 1.0f / 32, at == 0);
    sum.loss_sum += part.loss_sum;
    sum.correct += part.correct;
    at += n;
  }
  EXPECT_NEAR(sum.loss_sum, whole.loss_sum, 1e-4);
  EXPECT_EQ(sum.correct, whole.correct);
  EXPECT_THAT(Gradients(*model),
              testing::Pointwise(testing::FloatNear(1e-5f), want));
}

TEST(ModelTest, StatisticsAreTheSampleWeightedMomentsOfTheMicroBatches) {
  const auto backend = Cpu();
  const auto model = *Model::Create("resnet20", kColor, 10, backend.get(), 8);
  ASSERT_TRUE(model->Initialize(1).ok());
  ASSERT_EQ(model->tensors()[3].name, "bn1.mean");
  ASSERT_EQ(model->tensors()[4].name, "bn1.mean_square");
  EXPECT_EQ(model->tensors()[3].kind, TensorKind::kStatistic);
  EXPECT_EQ(model->parameter(3)[0], 0);
  EXPECT_EQ(model->parameter(4)[0], 1);
  const auto images = Images(kColor, 8);
  const auto labels = Labels(8);
  const auto moments = [&](int at, int n, float scale, bool first) {
    EXPECT_TRUE(model
                    ->ForwardBackward(images.data() + at * kColor.size(),
                                      labels.data() + at, n, scale, first)
                    .ok());
    return std::vector<float>{model->gradient(3)[5], model->gradient(4)[5]};
  };
  const auto head = moments(0, 6, 1.0f / 6, true);
  const auto tail = moments(6, 2, 1.0f / 2, true);
  moments(0, 6, 1.0f / 8, true);
  const auto both = moments(6, 2, 1.0f / 8, false);
  // The first layer sees the same in parts as in the whole.
  const auto whole = moments(0, 8, 1.0f / 8, true);
  for (const int i : {0, 1}) {
    EXPECT_NEAR(both[i], 0.75f * head[i] + 0.25f * tail[i], 1e-6f);
    EXPECT_NEAR(both[i], whole[i], 1e-6f);
  }
  EXPECT_GT(whole[1], whole[0] * whole[0]);
}

TEST(ModelTest, ReportsEveryTensorOnceLastFirstWithItsFinalGradient) {
  for (const char* name : {"lenet5", "resnet20", "resnet20v2"}) {
    const auto backend = Cpu();
    const auto model = *Model::Create(name, kColor, 10, backend.get(), 4);
    ASSERT_TRUE(model->Initialize(1).ok());
    const auto images = Images(kColor, 4);
    std::vector<size_t> order;
    std::vector<std::vector<float>> seen(model->tensors().size());
    ASSERT_TRUE(model
                    ->ForwardBackward(images.data(), Labels(4).data(), 4, 0.25f,
                                      true,
                                      [&](size_t t) {
                                        order.push_back(t);
                                        const auto g = model->gradient(t);
                                        seen[t].assign(g.begin(), g.end());
                                      })
                    .ok());
    std::vector<size_t> want(model->tensors().size());
    std::iota(want.rbegin(), want.rend(), 0u);
    EXPECT_EQ(order, want);
    for (size_t t = 0; t < seen.size(); ++t) {
      EXPECT_EQ(absl::Span<const float>(seen[t]), model->gradient(t)) << t;
    }
  }
}

TEST(ModelTest, EvaluatesWithTheStatisticsTensors) {
  const auto backend = Cpu();
  const auto model = *Model::Create("resnet20", kColor, 10, backend.get(), 8);
  ASSERT_TRUE(model->Initialize(1).ok());
  const auto images = Images(kColor, 8);
  const auto labels = Labels(8);
  const auto trained =
      *model->ForwardBackward(images.data(), labels.data(), 8, 1.0f / 8, true);
  const auto before = *model->Evaluate(images.data(), labels.data(), 8);
  EXPECT_GT(std::abs(before.loss_sum - trained.loss_sum), 1e-2);
  // With the batch's own statistics evaluation is training's forward pass.
  for (size_t t = 0; t < model->tensors().size(); ++t) {
    if (model->tensors()[t].kind != TensorKind::kStatistic) continue;
    const auto batch = model->gradient(t);
    std::copy(batch.begin(), batch.end(), model->parameter(t).begin());
  }
  ASSERT_TRUE(model->ParametersChanged().ok());
  const auto after = *model->Evaluate(images.data(), labels.data(), 8);
  EXPECT_NEAR(after.loss_sum, trained.loss_sum, 1e-3);
  EXPECT_EQ(after.correct, trained.correct);
}

TEST(ModelTest, StopsAtANonFiniteLoss) {
  const auto backend = Cpu();
  const auto model = *Model::Create("lenet5", kGrey, 10, backend.get(), 2);
  ASSERT_TRUE(model->Initialize(1).ok());
  model->parameter(4)[0] = std::numeric_limits<float>::quiet_NaN();
  ASSERT_TRUE(model->ParametersChanged().ok());
  int ready = 0;
  const auto loss =
      model->ForwardBackward(Images(kGrey, 2).data(), Labels(2).data(), 2, 0.5f,
                             true, [&](size_t) { ++ready; });
  ASSERT_TRUE(loss.ok()) << loss.status();
  EXPECT_FALSE(std::isfinite(loss->loss_sum));
  EXPECT_EQ(ready, 0);
}

// A device whose memory the host cannot see, as far as the model knows.
class FarBackend : public CpuBackend {
 public:
  FarBackend() : CpuBackend(1) {}
  bool host_visible() const override { return false; }
};

TEST(ModelTest, WorksWhereTheHostCannotSeeTheDevice) {
  const auto near = Cpu();
  FarBackend far;
  std::vector<std::vector<float>> results;
  for (Backend* backend : {near.get(), static_cast<Backend*>(&far)}) {
    const auto model = *Model::Create("resnet20", kColor, 10, backend, 2);
    ASSERT_TRUE(model->Initialize(1).ok());
    model->parameter(0)[0] += 1;
    ASSERT_TRUE(model->ParametersChanged().ok());
    std::vector<float> pushed;
    ASSERT_TRUE(
        model
            ->ForwardBackward(
                Images(kColor, 2).data(), Labels(2).data(), 2, 0.5f, true,
                [&](size_t t) { pushed.push_back(model->gradient(t)[0]); })
            .ok());
    results.push_back(Gradients(*model));
    results.back().insert(results.back().end(), pushed.begin(), pushed.end());
  }
  EXPECT_EQ(results[0], results[1]);
}

// Both as it is ready and when it is fetched.
TEST(ModelWireTest, GradientsAreWrittenAsTheyGoOverTheWire) {
  for (const DType wire : {DType::kF32, DType::kBF16, DType::kF16}) {
    const auto cpu = Cpu();
    const auto model = *Model::Create(kMlp, kGrey, 10, cpu.get(), 4, wire);
    ASSERT_TRUE(model->Initialize(1).ok());
    const auto want = [&](size_t t) {
      const auto gradient = model->gradient(t);
      std::string bytes(EncodedSize(wire, gradient.size()), 0);
      ConvertFromF32(wire, gradient.data(), gradient.size(), bytes.data());
      return bytes;
    };
    size_t ready = 0;
    ASSERT_TRUE(model
                    ->ForwardBackward(Images(kGrey, 4).data(), Labels(4).data(),
                                      4, 0.25f, true,
                                      [&](size_t t) {
                                        EXPECT_EQ(model->wire_gradient(t),
                                                  want(t));
                                        ++ready;
                                      })
                    .ok());
    EXPECT_EQ(ready, model->tensors().size());
    model->ScaleGradients(3);
    ASSERT_TRUE(model->FetchGradients().ok());
    for (size_t t = 0; t < model->tensors().size(); ++t) {
      EXPECT_EQ(model->wire_gradient(t), want(t));
    }
  }
}

using testing::IsEmpty;

TEST(GradientBucketsTest, FromTheLastTensorToTheFirst) {
  const std::vector<int64_t> offsets = {0, 100, 110, 120, 300, 310};
  EXPECT_THAT(MakeBuckets(offsets, 50),
              ElementsAre(GradientBucket{3, 5, 120, 190},
                          GradientBucket{0, 3, 0, 120}));
}

TEST(GradientBucketsTest, WhatIsLeftIsABucketHoweverSmall) {
  const std::vector<int64_t> offsets = {0, 1, 100};
  EXPECT_THAT(
      MakeBuckets(offsets, 99),
      ElementsAre(GradientBucket{1, 2, 1, 99}, GradientBucket{0, 1, 0, 1}));
  EXPECT_THAT(MakeBuckets(offsets, 1000),
              ElementsAre(GradientBucket{0, 2, 0, 100}));
}

TEST(GradientBucketsTest, ATensorEachWhereAllAreLarge) {
  const std::vector<int64_t> offsets = {0, 50, 100, 150};
  EXPECT_THAT(
      MakeBuckets(offsets, 50),
      ElementsAre(GradientBucket{2, 3, 100, 50}, GradientBucket{1, 2, 50, 50},
                  GradientBucket{0, 1, 0, 50}));
}

TEST(GradientBucketsTest, NothingOfNothing) {
  EXPECT_THAT(MakeBuckets({0}, 50), IsEmpty());
}

}  // namespace

}  // namespace paceline
