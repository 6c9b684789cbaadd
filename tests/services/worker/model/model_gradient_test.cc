#include <cmath>
#include <utility>
#include <vector>

#include "common/rng.h"
#include "gtest/gtest.h"
#include "services/worker/model/chain.h"
#include "services/worker/model/model.h"

namespace paceline {
namespace {

constexpr int kBatch = 6;

// Every kind of layer at once, as in ResNet-20.
Chain SmallResidualNet() {
  Chain branch({Layout::kPlanes, 3, 6, 6});
  branch
      .Conv("a",
            {.channels = 6, .kernel = 3, .stride = 2, .pad = 1, .bias = false})
      .BatchNorm("a.bn")
      .Relu();
  branch.Conv("b", {.channels = 6, .kernel = 3, .pad = 1, .bias = false})
      .BatchNorm("b.bn");
  Chain net({Layout::kImages, 2, 6, 6});
  net.ToPlanes().Conv("first",
                      {.channels = 3, .kernel = 3, .pad = 1, .bias = false});
  net.BatchNorm("first.bn").Relu();
  net.Residual(std::move(branch), 2).Relu();
  net.AveragePool(3).Flatten().Logits("fc", 4);
  return net;
}

// The same with its convolutions behind the normalizations, as in ResNet-20 of
// the second kind, and a sum of its own in front of another.
Chain SmallPreActivationNet() {
  Chain first({Layout::kPlanes, 3, 6, 6});
  first.Conv("a", {.channels = 3, .kernel = 3, .pad = 1, .bias = false})
      .BatchNorm("a.bn")
      .Relu();
  Chain second({Layout::kPlanes, 3, 6, 6});
  second.BatchNorm("b.bn").Relu();
  second.Conv(
      "b", {.channels = 6, .kernel = 3, .stride = 2, .pad = 1, .bias = false});
  Chain net({Layout::kImages, 2, 6, 6});
  net.ToPlanes().Conv("first",
                      {.channels = 3, .kernel = 3, .pad = 1, .bias = false});
  net.BatchNorm("first.bn").Relu();
  net.Residual(std::move(first), 1).Residual(std::move(second), 2);
  net.BatchNorm("last.bn").Relu();
  net.AveragePool(3).Flatten().Logits("fc", 4);
  return net;
}

struct Batch {
  std::vector<float> images;
  std::vector<uint8_t> labels;
};

Batch RandomBatch() {
  Rng rng(5);
  Batch batch;
  for (int i = 0; i < kBatch * 2 * 6 * 6; ++i) {
    batch.images.push_back(static_cast<float>(2 * rng.Unit() - 1));
  }
  for (int i = 0; i < kBatch; ++i) {
    batch.labels.push_back(static_cast<uint8_t>(rng.Below(4)));
  }
  return batch;
}

double MeanLoss(Model& model, const Batch& batch) {
  return model
             .ForwardBackward(batch.images.data(), batch.labels.data(), kBatch,
                              1.0f / kBatch, /*first=*/true)
             ->loss_sum /
         kBatch;
}

void ExpectFollowsItsLoss(Chain net) {
  const auto backend = *MakeBackend("cpu");
  const auto model = *Model::FromChain(std::move(net), backend.get(), 8);
  ASSERT_TRUE(model->Initialize(3).ok());
  const Batch batch = RandomBatch();
  MeanLoss(*model, batch);
  std::vector<std::vector<float>> gradients;
  for (size_t t = 0; t < model->tensors().size(); ++t) {
    const auto gradient = model->gradient(t);
    gradients.emplace_back(gradient.begin(), gradient.end());
  }
  // Larger steps meet more kinks of a ReLU, smaller ones more roundings: with
  // this one the largest distance is 0.012, whatever kernels the BLAS chooses.
  constexpr float kStep = 2e-4f;
  for (size_t t = 0; t < gradients.size(); ++t) {
    if (model->tensors()[t].kind == TensorKind::kStatistic) continue;
    double distance = 0, length = 0;
    for (size_t i = 0; i < gradients[t].size(); ++i) {
      float& value = model->parameter(t)[i];
      const float old = value;
      value = old + kStep;
      const double above = MeanLoss(*model, batch);
      value = old - kStep;
      const double below = MeanLoss(*model, batch);
      value = old;
      const double numeric = (above - below) / (2 * double{kStep});
      distance += std::pow(numeric - gradients[t][i], 2);
      length += numeric * numeric;
    }
    // A ReLU's kink inside of a step costs a little; a mistake costs much.
    EXPECT_GT(length, 0) << model->tensors()[t].name;
    EXPECT_LT(std::sqrt(distance / length), 0.02) << model->tensors()[t].name;
  }
}

TEST(ModelGradientTest, SmallResidualNetFollowsItsLoss) {
  ExpectFollowsItsLoss(SmallResidualNet());
}

TEST(ModelGradientTest, SmallPreActivationNetFollowsItsLoss) {
  ExpectFollowsItsLoss(SmallPreActivationNet());
}

}  // namespace
}  // namespace paceline
