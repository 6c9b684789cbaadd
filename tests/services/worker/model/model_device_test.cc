// A model on a device that does things when it pleases gives, to the bit, what
// it gives where everything is done at once.

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "common/job/names.h"
#include "common/rng.h"
#include "gtest/gtest.h"
#include "services/worker/model/model.h"
#include "tests/gpu/device_memory.h"
#include "tests/gpu/queued_backend.h"
#include "tests/services/worker/model/drawn_batch.h"
#include "tests/services/worker/model/pushed_gradients.h"

namespace paceline {
namespace {

constexpr ImageShape kShape = DrawnBatch::kShape;
constexpr int kClasses = DrawnBatch::kClasses;
constexpr int kBatchMax = 3;

// Of as many samples as the seed says.
struct Batch : DrawnBatch {
  explicit Batch(uint64_t seed)
      : DrawnBatch(1 + static_cast<int>(seed % kBatchMax), seed) {}
};

struct Seen {
  double loss = 0;
  std::vector<size_t> order;
  std::vector<std::string> gradients;  // By tensor, as they go over the wire.

  bool operator==(const Seen&) const = default;
};

std::string GradientOf(const Model& model, size_t tensor) {
  return std::string(model.wire_gradient(tensor));
}

// One model, and what a worker does with it.
class Worker {
 public:
  Worker(absl::string_view name, Backend* backend, DType wire = DType::kF32) {
    auto model =
        Model::Create(name, kShape, kClasses, backend, kBatchMax, wire);
    EXPECT_TRUE(model.ok()) << model.status();
    model_ = *std::move(model);
    EXPECT_TRUE(model_->Initialize(7).ok());
  }

  // An iteration of some micro-batches, each staged while the one in front of
  // it is computed; pushed while it is computed, or fetched behind it.
  Seen Iterate(const std::vector<Batch>& batches, bool pushing) {
    Seen seen;
    seen.gradients.resize(model_->tensors().size());
    const auto stage = [&](size_t i) {
      if (i == batches.size()) return;
      model_->Stage(batches[i].images.data(), batches[i].labels.data(),
                    batches[i].n);
    };
    stage(0);
    for (size_t i = 0; i < batches.size(); ++i) {
      StepCalls calls;
      calls.meanwhile = [&, i] { stage(i + 1); };
      if (pushing && i + 1 == batches.size()) {
        calls.on_ready = [&](size_t tensor) {
          seen.order.push_back(tensor);
          seen.gradients[tensor] = GradientOf(*model_, tensor);
        };
      }
      const auto loss = model_->ComputeStaged(0.125f, i == 0, calls);
      EXPECT_TRUE(loss.ok()) << loss.status();
      seen.loss += loss->loss_sum;
    }
    if (!pushing) {
      model_->ScaleGradients(0.5f);
      EXPECT_TRUE(model_->FetchGradients().ok());
      for (size_t t = 0; t < seen.gradients.size(); ++t) {
        seen.gradients[t] = GradientOf(*model_, t);
      }
    }
    return seen;
  }

  // New weights, of which some arrive before the others.
  void Pull(uint64_t seed) {
    Rng rng(seed);
    const bool at_once = rng.Chance(1, 4);
    for (size_t t = model_->tensors().size(); t-- > 0;) {
      for (float& value : model_->parameter(t)) {
        value += static_cast<float>(0.02 * rng.Unit() - 0.01);
      }
      if (!at_once && rng.Chance(3, 4)) model_->ParameterArrived(t);
    }
    EXPECT_TRUE(model_->ParametersChanged().ok());
  }

  Model& model() { return *model_; }

 private:
  std::unique_ptr<Model> model_;
};

class ModelDeviceTest : public testing::TestWithParam<absl::string_view> {
 protected:
  // The same calls to both; whether they see the same.
  void Compare(uint64_t seed);
};

void ModelDeviceTest::Compare(uint64_t seed) {
  CpuBackend cpu(/*threads=*/1);
  QueuedBackend device(seed);
  const DType wires[] = {DType::kF32, DType::kBF16, DType::kF16};
  const DType wire = wires[seed % 3];
  Worker here(GetParam(), &cpu, wire), there(GetParam(), &device, wire);
  Rng rng(seed);
  for (int iteration = 0; iteration < 6; ++iteration) {
    here.Pull(seed + iteration);
    there.Pull(seed + iteration);
    std::vector<Batch> batches;
    for (uint64_t i = 1 + rng.Below(4); i > 0; --i) {
      batches.emplace_back(rng.Below(5));
    }
    const bool pushing = rng.Chance(1, 2);
    const Seen want = here.Iterate(batches, pushing);
    const Seen got = there.Iterate(batches, pushing);
    ASSERT_EQ(got.loss, want.loss) << iteration;
    ASSERT_EQ(got.order, want.order) << iteration;
    ASSERT_TRUE(got == want) << iteration;
    const Batch sample(seed + 1);
    const auto a = there.model().Evaluate(sample.images.data(),
                                          sample.labels.data(), sample.n);
    const auto b = here.model().Evaluate(sample.images.data(),
                                         sample.labels.data(), sample.n);
    ASSERT_EQ(a->loss_sum, b->loss_sum) << iteration;
    ASSERT_EQ(a->correct, b->correct) << iteration;
  }
}

TEST_P(ModelDeviceTest, AnyTimingGivesTheSameBits) {
  const uint64_t seeds = GetParam() == kLogreg ? 200 : 10;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE(seed);
    Compare(seed);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ModelDeviceTest,
                         testing::Values(kLogreg, kMlp, kResnet20, kResnet20V2),
                         [](const auto& spec) {
                           return std::string(spec.param);
                         });

TEST(ModelDeviceStepTest, StepsOfOneShapeAreRepeated) {
  QueuedBackend device(1);
  Worker worker(kMlp, &device);
  for (int i = 0; i < 40; ++i) {
    worker.Pull(i);
    worker.Iterate({Batch(1)}, /*pushing=*/true);
  }
  // Two slots; now and then it is remembered anew.
  EXPECT_GT(device.repeated(), 20);
}

TEST(ModelDeviceStepTest, PushedGradientsAreThoseThatCanBeFetched) {
  for (const DType wire : {DType::kF32, DType::kBF16, DType::kF16}) {
    QueuedBackend device(5);
    Worker worker(kResnet20, &device, wire);
    const Batch batch(2);
    EXPECT_EQ(PushedGradientsDiffer(worker.model(), batch.images, batch.labels),
              "");
  }
}

// No gradient of it is shown to anybody, and the next batch is none the worse.
TEST(ModelDeviceStepTest, ALossThatIsNotFiniteIsToldFirst) {
  CpuBackend cpu(/*threads=*/1);
  QueuedBackend device(2);
  Worker here(kMlp, &cpu), there(kMlp, &device);
  for (Worker* worker : {&here, &there}) {
    Batch bad(2);
    bad.images[5] = std::numeric_limits<float>::quiet_NaN();
    const Seen seen = worker->Iterate({bad}, /*pushing=*/true);
    EXPECT_FALSE(std::isfinite(seen.loss));
    EXPECT_TRUE(seen.order.empty());
  }
  EXPECT_EQ(there.Iterate({Batch(1)}, true), here.Iterate({Batch(1)}, true));
}

// Weights that arrive while it is computed are for the next step, and those
// that arrive behind its images are for it.
TEST(ModelDeviceStepTest, AStepHasTheWeightsThatWereThereWhenItBegan) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    CpuBackend cpu(/*threads=*/1);
    QueuedBackend device(seed);
    Worker here(kMlp, &cpu), there(kMlp, &device);
    const Batch batch(2);
    std::vector<std::string> gradients[2];
    for (Worker* worker : {&here, &there}) {
      Model& model = worker->model();
      model.Stage(batch.images.data(), batch.labels.data(), batch.n);
      worker->Pull(seed);
      ASSERT_TRUE(model.ComputeStaged(0.5f, /*first=*/true).ok());
      // The CPU is done with it; on the device the backward pass goes on.
      worker->Pull(seed + 1);
      ASSERT_TRUE(model.FetchGradients().ok());
      for (size_t t = 0; t < model.tensors().size(); ++t) {
        gradients[worker == &here ? 0 : 1].push_back(GradientOf(model, t));
      }
    }
    ASSERT_EQ(gradients[1], gradients[0]) << seed;
  }
}

// A pull that came to nothing leaves nothing behind.
TEST(ModelDeviceStepTest, NewStartingWeightsReachTheDevice) {
  CpuBackend cpu(/*threads=*/1);
  QueuedBackend device(4);
  Worker here(kMlp, &cpu), there(kMlp, &device);
  for (Worker* worker : {&here, &there}) {
    Model& model = worker->model();
    for (size_t t = 0; t < model.tensors().size(); ++t) {
      model.parameter(t)[0] = 5;
      model.ParameterArrived(t);
    }
    ASSERT_TRUE(model.Initialize(9).ok());
  }
  EXPECT_EQ(there.Iterate({Batch(1)}, true), here.Iterate({Batch(1)}, true));
}

// What was staged for an iteration that came to nothing is not computed.
TEST(ModelDeviceStepTest, WhatIsDroppedIsForgotten) {
  CpuBackend cpu(/*threads=*/1);
  QueuedBackend device(3);
  Worker here(kMlp, &cpu), there(kMlp, &device);
  const Batch dropped(4), used(2);
  for (int i = 0; i < 5; ++i) {
    there.model().Stage(dropped.images.data(), dropped.labels.data(),
                        dropped.n);
    there.model().DropStaged();
    EXPECT_EQ(there.Iterate({used}, i % 2 == 0),
              here.Iterate({used}, i % 2 == 0));
  }
}

}  // namespace
}  // namespace paceline
