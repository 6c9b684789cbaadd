// A model on several devices gives what it gives on one, but for rounding, and
// the same bits every time.

#include "services/worker/replicas/replicated_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/job/names.h"
#include "common/rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/gpu/device_memory.h"
#include "tests/gpu/queued_backend.h"
#include "tests/services/worker/model/drawn_batch.h"

namespace paceline {
namespace {

using Batch = DrawnBatch;

constexpr ImageShape kShape = Batch::kShape;
constexpr int kClasses = Batch::kClasses;
constexpr int kBatchMax = 8;

struct Seen {
  double loss = 0;
  int correct = 0;
  std::vector<std::string> gradients;  // By tensor, as they go over the wire.

  bool operator==(const Seen&) const = default;
};

using Backends = std::vector<std::unique_ptr<Backend>>;

Backends Cpus(int devices) {
  Backends cpus;
  for (int i = 0; i < devices; ++i) {
    cpus.push_back(std::make_unique<CpuBackend>(/*threads=*/1));
  }
  return cpus;
}

// Devices with memory of their own.
Backends Queued(int devices, uint64_t seed) {
  Backends queued;
  for (int i = 0; i < devices; ++i) {
    queued.push_back(std::make_unique<QueuedBackend>(100 * seed + i));
  }
  return queued;
}

absl::StatusOr<std::unique_ptr<ReplicatedModel>> Make(
    absl::string_view name, const Backends& backends,
    DType wire = DType::kF32) {
  std::vector<Backend*> devices;
  for (const auto& backend : backends) devices.push_back(backend.get());
  return ReplicatedModel::Create(name, kShape, kClasses, devices, kBatchMax,
                                 wire);
}

// One model, and what a worker does with it.
class Worker {
 public:
  Worker(absl::string_view name, Backends backends, DType wire = DType::kF32)
      : backends_(std::move(backends)) {
    auto model = Make(name, backends_, wire);
    EXPECT_TRUE(model.ok()) << model.status();
    model_ = *std::move(model);
    EXPECT_TRUE(model_->Initialize(7).ok());
  }

  // A step of some micro-batches, each staged while the one in front of it is
  // computed, whose gradients are the mean over all samples.
  Seen Step(const std::vector<Batch>& batches) {
    int samples = 0;
    for (const Batch& batch : batches) samples += batch.n;
    Seen seen;
    Compute(batches, 1.0f / static_cast<float>(samples), /*first=*/true, seen);
    Fetch(seen);
    return seen;
  }

  void Compute(const std::vector<Batch>& batches, float scale, bool first,
               Seen& seen) {
    const auto stage = [&](size_t i) {
      if (i == batches.size()) return;
      model_->Stage(batches[i].images.data(), batches[i].labels.data(),
                    batches[i].n);
    };
    stage(0);
    for (size_t i = 0; i < batches.size(); ++i) {
      const auto loss = model_->ComputeStaged(
          scale, first && i == 0, {.meanwhile = [&, i] { stage(i + 1); }});
      ASSERT_TRUE(loss.ok()) << loss.status();
      seen.loss += loss->loss_sum;
      seen.correct += loss->correct;
    }
  }

  void Fetch(Seen& seen) {
    ASSERT_TRUE(model_->FetchGradients().ok());
    for (size_t t = 0; t < model_->first().tensors().size(); ++t) {
      seen.gradients.emplace_back(model_->first().wire_gradient(t));
    }
  }

  // New weights, of which some arrive before the others.
  void Pull(uint64_t seed) {
    Rng rng(seed);
    Model& first = model_->first();
    for (size_t t = first.tensors().size(); t-- > 0;) {
      for (float& value : first.parameter(t)) {
        value += static_cast<float>(0.02 * rng.Unit() - 0.01);
      }
      if (rng.Chance(3, 4)) model_->ParameterArrived(t);
    }
    EXPECT_TRUE(model_->ParametersChanged().ok());
  }

  ReplicatedModel& model() { return *model_; }

 private:
  const Backends backends_;
  std::unique_ptr<ReplicatedModel> model_;
};

std::vector<float> Floats(const std::string& bytes) {
  std::vector<float> floats(bytes.size() / sizeof(float));
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(floats.data()));
  return floats;
}

// How far b's gradient is from a's in the tensor that is furthest, as a share
// of its norm.
double Distance(const Seen& a, const Seen& b) {
  EXPECT_EQ(a.gradients.size(), b.gradients.size());
  double furthest = 0;
  for (size_t t = 0; t < a.gradients.size(); ++t) {
    const std::vector<float> x = Floats(a.gradients[t]);
    const std::vector<float> y = Floats(b.gradients[t]);
    double apart = 0;
    double norm = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      apart += std::pow(x[i] - y[i], 2);
      norm += std::pow(x[i], 2);
    }
    if (apart > 0) furthest = std::max(furthest, std::sqrt(apart / norm));
  }
  return furthest;
}

class ReplicatedModelTest : public testing::TestWithParam<absl::string_view> {};

TEST_P(ReplicatedModelTest, SeveralDevicesHaveTheGradientsOfOne) {
  const std::vector<std::vector<Batch>> steps = {
      {Batch(8, 1)},                            // Equal parts.
      {Batch(7, 2), Batch(8, 3), Batch(5, 4)},  // Unequal ones.
      {Batch(1, 5)},                            // Only the first has a part.
      {Batch(2, 6), Batch(8, 7)},  // Some have a part of the second alone.
      {Batch(8, 8), Batch(1, 9)}};
  for (const int devices : {2, 3, 5}) {
    Worker one(GetParam(), Cpus(1)), several(GetParam(), Cpus(devices));
    for (const std::vector<Batch>& step : steps) {
      one.Pull(devices);
      several.Pull(devices);
      const Seen want = one.Step(step);
      const Seen got = several.Step(step);
      EXPECT_NEAR(got.loss, want.loss, 1e-5 * want.loss);
      EXPECT_EQ(got.correct, want.correct);
      EXPECT_LT(Distance(want, got), 2e-6) << devices;
    }
  }
}

TEST_P(ReplicatedModelTest, TheSameStepGivesTheSameBits) {
  Worker worker(GetParam(), Cpus(4));
  const std::vector<Batch> step = {Batch(8, 1), Batch(7, 2)};
  const Seen want = worker.Step(step);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(worker.Step(step) == want) << i;
}

INSTANTIATE_TEST_SUITE_P(Models, ReplicatedModelTest,
                         testing::Values(kLogreg, kMlp, kLenet5),
                         [](const auto& spec) {
                           return std::string(spec.param);
                         });

// Each device normalizes its own part: so a micro-batch of five on two devices
// is what one of three and one of two are on one device, and not what one of
// five is.
TEST(ReplicatedBatchNormTest, EachDeviceNormalizesItsPart) {
  for (const absl::string_view name : {kResnet20, kResnet20V2}) {
    Worker one(name, Cpus(1)), two(name, Cpus(2));
    const Batch batch(5, 1);
    const Seen got = two.Step({batch});
    const Seen parts = one.Step({batch.Part(0, 3), batch.Part(3, 5)});
    const Seen whole = one.Step({batch});
    EXPECT_EQ(got.loss, parts.loss);
    EXPECT_LT(Distance(parts, got), 1e-5) << name;
    EXPECT_GT(Distance(whole, got), 1e-2) << name;
  }
}

// What is pushed of a layer that nothing normalized stands in front of is the
// mean, and E[x^2], of the whole micro-batch: each device counts by its
// samples.
TEST(ReplicatedBatchNormTest, StatisticsWeighSamples) {
  Worker one(kResnet20, Cpus(1)), two(kResnet20, Cpus(2));
  const Batch batch(5, 1);
  const Seen whole = one.Step({batch});
  const Seen got = two.Step({batch});
  const std::vector<TensorSpec>& tensors = one.model().first().tensors();
  int compared = 0;
  for (size_t t = 0; t < tensors.size() && compared < 2; ++t) {
    if (tensors[t].kind != TensorKind::kStatistic) continue;
    ++compared;
    const std::vector<float> want = Floats(whole.gradients[t]);
    const std::vector<float> statistic = Floats(got.gradients[t]);
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_NEAR(statistic[i], want[i], 1e-5) << tensors[t].name;
    }
  }
  EXPECT_EQ(compared, 2);
}

// A step may end early, and may go on.
TEST(ReplicatedStepTest, GradientsAreScaledAndAddedTo) {
  Worker one(kMlp, Cpus(1)), several(kMlp, Cpus(3));
  Seen want, got;
  for (const auto& [worker, seen] :
       {std::pair{&one, &want}, std::pair{&several, &got}}) {
    worker->Compute({Batch(8, 1), Batch(2, 2)}, 1.0f / 16, true, *seen);
    worker->model().ScaleGradients(16.0f / 10);
    worker->Compute({Batch(5, 3)}, 1.0f / 10, false, *seen);
    worker->Fetch(*seen);
  }
  EXPECT_LT(Distance(want, got), 2e-6);
}

TEST(ReplicatedStepTest, FetchingTwiceAddsNothing) {
  Worker worker(kMlp, Cpus(3));
  const Seen once = worker.Step({Batch(8, 1)});
  Seen again{.loss = once.loss, .correct = once.correct};
  worker.Fetch(again);
  EXPECT_TRUE(again == once);
}

// Any timing of copies and computations, on every device.
TEST(ReplicatedStepTest, DevicesWithMemoryOfTheirOwnGiveTheSameBits) {
  const DType wires[] = {DType::kF32, DType::kBF16, DType::kF16};
  for (const absl::string_view name : {kMlp, kResnet20}) {
    for (uint64_t seed = 0; seed < (name == kMlp ? 40 : 4); ++seed) {
      const int devices = 2 + static_cast<int>(seed % 2);
      const DType wire = wires[seed % 3];
      Worker here(name, Cpus(devices), wire);
      Worker there(name, Queued(devices, seed), wire);
      Rng rng(seed);
      for (int step = 0; step < 5; ++step) {
        here.Pull(seed + step);
        there.Pull(seed + step);
        std::vector<Batch> batches;
        for (uint64_t i = 1 + rng.Below(3); i > 0; --i) {
          batches.emplace_back(1 + static_cast<int>(rng.Below(kBatchMax)), i);
        }
        ASSERT_TRUE(there.Step(batches) == here.Step(batches))
            << name << " " << seed << " " << step;
      }
    }
  }
}

// A pull that came to nothing leaves nothing behind on any device.
TEST(ReplicatedStepTest, NewStartingWeightsReachEveryDevice) {
  Worker here(kMlp, Cpus(2)), there(kMlp, Queued(2, 4));
  for (Worker* worker : {&here, &there}) {
    ReplicatedModel& model = worker->model();
    for (size_t t = 0; t < model.first().tensors().size(); ++t) {
      model.first().parameter(t)[0] = 5;
      model.ParameterArrived(t);
    }
    ASSERT_TRUE(model.Initialize(9).ok());
  }
  EXPECT_TRUE(there.Step({Batch(4, 1)}) == here.Step({Batch(4, 1)}));
}

// Nor does what was staged for a step that came to nothing.
TEST(ReplicatedStepTest, WhatIsDroppedIsForgotten) {
  const Batch dropped(7, 4), used(4, 2);
  for (const bool queued : {false, true}) {
    Worker fresh(kMlp, queued ? Queued(3, 1) : Cpus(3));
    Worker worker(kMlp, queued ? Queued(3, 1) : Cpus(3));
    const Seen want = fresh.Step({used});
    for (int i = 0; i < 3; ++i) {
      ReplicatedModel& model = worker.model();
      model.Stage(used.images.data(), used.labels.data(), used.n);
      ASSERT_TRUE(model
                      .ComputeStaged(1, true,
                                     {.meanwhile =
                                          [&] {
                                            model.Stage(dropped.images.data(),
                                                        dropped.labels.data(),
                                                        dropped.n);
                                          }})
                      .ok());
      model.DropStaged();
      EXPECT_TRUE(worker.Step({used}) == want);
    }
  }
}

// The next step is none the worse.
TEST(ReplicatedStepTest, APartThatIsNotFiniteIsTold) {
  for (const bool queued : {false, true}) {
    Worker worker(kMlp, queued ? Queued(2, 1) : Cpus(2));
    const Seen want = worker.Step({Batch(4, 1)});
    Batch bad(4, 1);
    bad.images.back() = std::numeric_limits<float>::quiet_NaN();  // The second.
    Seen seen;
    worker.Compute({bad}, 0.25f, true, seen);
    EXPECT_FALSE(std::isfinite(seen.loss));
    EXPECT_TRUE(worker.Step({Batch(4, 1)}) == want);
  }
}

TEST(ReplicatedErrorTest, ADeviceThatFailsIsNamed) {
  Backends backends = Queued(1, 1);
  backends.push_back(std::make_unique<QueuedBackend>(
      QueuedBackend::Manners{.computations = 0}));
  backends.push_back(std::make_unique<QueuedBackend>(
      QueuedBackend::Manners{.computations = 0}));
  const auto model = *Make(kMlp, backends);
  ASSERT_TRUE(model->Initialize(1).ok());
  const Batch batch(6, 1);
  model->Stage(batch.images.data(), batch.labels.data(), batch.n);
  EXPECT_EQ(model->ComputeStaged(1, true).status(),
            absl::InternalError("device 2 of 3: the device is lost"));
}

TEST(ReplicatedErrorTest, SoIsOneWithoutMemory) {
  Backends backends = Queued(1, 1);
  backends.push_back(
      std::make_unique<QueuedBackend>(QueuedBackend::Manners{.floats = 1000}));
  const absl::Status status = Make(kMlp, backends).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              testing::StartsWith("device 2 of 2: no memory for "));
}

// The backward pass of these may be queued yet when the loss is there.
TEST(ReplicatedErrorTest, AnErrorOfTheBackwardPassIsToldByTheFetch) {
  int told = 0;
  for (int64_t computations = 1; computations < 40; ++computations) {
    Backends backends = Queued(1, 1);
    backends.push_back(std::make_unique<QueuedBackend>(
        QueuedBackend::Manners{.computations = computations}));
    const auto model = *Make(kMlp, backends);
    ASSERT_TRUE(model->Initialize(1).ok());
    const Batch batch(6, 1);
    model->Stage(batch.images.data(), batch.labels.data(), batch.n);
    absl::Status status = model->ComputeStaged(1, true).status();
    if (status.ok()) {
      status = model->FetchGradients();
      told += status.ok() ? 0 : 1;
    }
    if (status.ok()) break;
    EXPECT_EQ(status, absl::InternalError("device 2 of 2: the device is lost"));
  }
  EXPECT_GT(told, 0);
}

}  // namespace
}  // namespace paceline
