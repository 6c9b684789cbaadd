// Under BSP a cluster is one big machine: it takes the steps that a plain
// single-process loop over the same batches takes.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/permutation.h"
#include "gpu/backend.h"
#include "services/worker/data/dataset.h"
#include "services/worker/model/model.h"
#include "services/worker/worker.h"
#include "tests/common/sanitized.h"
#include "tests/gpu/queued_gpu.h"
#include "tests/integration/local_cluster.h"

namespace paceline {
namespace {

using Tensors = std::vector<std::vector<float>>;

// SGD with momentum, written as plainly as can be: per step one batch of
// `batch` samples and v = m * v + strength * g, w -= rate * v.
class PlainSgd {
 public:
  PlainSgd(const v1::JobSpec& job, uint32_t batch, float strength,
           float momentum)
      : job_(job), batch_(batch), strength_(strength), momentum_(momentum) {
    data_ = std::make_unique<Dataset>(*LoadDataset(job.data(), Split::kTrain));
    backend_ = *MakeBackend("cpu");
    model_ = *Model::Create(job.model(), data_->shape(), data_->classes(),
                            backend_.get(), static_cast<int>(batch));
    EXPECT_TRUE(model_->Initialize(job.seed()).ok());
    for (const TensorSpec& spec : model_->tensors()) {
      velocity_.emplace_back(spec.size, 0.0f);
    }
  }

  void Run(int64_t samples) {
    images_.resize(size_t{batch_} * data_->shape().size());
    labels_.resize(batch_);
    const uint32_t size = data_->size();
    for (int64_t done = 0; done < samples; done += batch_) {
      const auto epoch = static_cast<uint32_t>(done / size);
      const auto begin = static_cast<uint32_t>(done % size);
      const std::vector<uint32_t> order =
          EpochPermutation(job_.seed(), epoch, size);
      Step({order.begin() + begin, order.begin() + begin + batch_});
    }
  }

  Tensors Weights() {
    Tensors weights;
    for (size_t i = 0; i < model_->tensors().size(); ++i) {
      const auto values = model_->parameter(i);
      weights.emplace_back(values.begin(), values.end());
    }
    return weights;
  }

 private:
  void Step(const std::vector<uint32_t>& indices) {
    data_->Gather(indices, images_.data(), labels_.data());
    ASSERT_TRUE(model_
                    ->ForwardBackward(images_.data(), labels_.data(),
                                      static_cast<int>(batch_),
                                      1.0f / static_cast<float>(batch_), true)
                    .ok());
    const auto rate = static_cast<float>(job_.learning_rate());
    for (size_t i = 0; i < velocity_.size(); ++i) {
      const auto gradient = model_->gradient(i);
      const auto weights = model_->parameter(i);
      for (size_t k = 0; k < velocity_[i].size(); ++k) {
        float& v = velocity_[i][k];
        v = momentum_ * v + strength_ * gradient[k];
        weights[k] -= rate * v;
      }
    }
    ASSERT_TRUE(model_->ParametersChanged().ok());
  }

  const v1::JobSpec job_;
  const uint32_t batch_;
  const float strength_;
  const float momentum_;
  std::unique_ptr<Dataset> data_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Model> model_;
  Tensors velocity_;
  std::vector<float> images_;
  std::vector<uint8_t> labels_;
};

// The largest difference of two sets of tensors.
float Distance(const Tensors& a, const Tensors& b) {
  EXPECT_EQ(a.size(), b.size());
  float distance = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].size(), b[i].size()) << "tensor " << i;
    for (size_t k = 0; k < a[i].size(); ++k) {
      distance = std::max(distance, std::fabs(a[i][k] - b[i][k]));
    }
  }
  return distance;
}

// Runs the job with real Worker objects and returns the final weights. The last
// worker needs `slowest` for a batch.
Tensors Train(const v1::JobSpec& job, uint32_t servers,
              const std::string& device = "cpu",
              std::optional<absl::Duration> slowest = std::nullopt,
              const std::vector<int>& devices = {0}) {
  LocalCluster cluster(servers);
  prometheus::Registry registry;
  WorkerMetrics metrics(registry);
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < job.workers().min(); ++i) {
    Worker::Options options;
    options.coordinator = cluster.address();
    options.hello.set_name("w" + std::to_string(i));
    options.host.device = device;
    options.host.devices = devices;
    if (i + 1 == job.workers().min()) options.pace.step_time = slowest;
    workers.push_back(std::make_unique<Worker>(options, &metrics));
    threads.emplace_back(
        [worker = workers.back().get()] { EXPECT_TRUE(worker->Run().ok()); });
  }
  const absl::Status outcome = cluster.Run(job);
  EXPECT_TRUE(outcome.ok()) << outcome;
  for (const auto& worker : workers) worker->Leave();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(cluster.result()["samples"],
            cluster.result()["updates"].get<int>() * job.batch_size() *
                job.workers().min());
  const auto weights = cluster.FinalWeights();
  EXPECT_TRUE(weights.ok()) << weights.status();
  return weights.ok() ? *weights : Tensors();
}

TEST(EquivalenceTest, OneWorkerTakesThePlainLoopsSteps) {
  v1::JobSpec job = SmallJob("bsp", /*workers=*/1);
  job.set_optimizer("sgd:momentum=0.9");
  job.set_learning_rate(0.01);
  job.set_batch_size(32);
  job.mutable_stop()->set_epochs(7);  // 32 steps each: 224.
  PlainSgd plain(job, 32, /*strength=*/1, /*momentum=*/0.9f);
  plain.Run(int64_t{7} * 1024);
  EXPECT_LE(Distance(Train(job, /*servers=*/2), plain.Weights()), 1e-6f);
}

// Gradients of eight bits, and what they lack is in the next ones.
TEST(EquivalenceTest, WithInt8ItTakesStepsLikeThem) {
  v1::JobSpec job = SmallJob("bsp", /*workers=*/1);
  job.set_learning_rate(0.01);
  job.mutable_stop()->set_epochs(7);
  PlainSgd plain(job, 32, /*strength=*/1, /*momentum=*/0);
  plain.Run(int64_t{7} * 1024);
  job.set_wire(v1::BF16);
  const float sixteen_bits =
      Distance(Train(job, /*servers=*/2), plain.Weights());
  job.set_wire(v1::INT8);
  const float eight_bits = Distance(Train(job, /*servers=*/2), plain.Weights());
  EXPECT_GT(eight_bits, 0);
  EXPECT_LE(eight_bits, 2 * sixteen_bits);
}

TEST(EquivalenceTest, FourWorkersTakeTheUnionBatchsSteps) {
  v1::JobSpec job = SmallJob("bsp", /*workers=*/4);
  job.set_batch_size(8);
  job.set_learning_rate(0.01);
  job.mutable_stop()->set_epochs(4);  // 32 rounds of 4 x 8 samples each: 128.
  // f is linear: a round of four batches is four times as strong.
  PlainSgd plain(job, 32, /*strength=*/4, /*momentum=*/0);
  plain.Run(int64_t{4} * 1024);
  EXPECT_LE(Distance(Train(job, /*servers=*/2), plain.Weights()), 1e-4f);
}

// Whoever computes which of a round's samples, in however many parts.
// A part that is given up, as on a busy machine, would be of a later batch.
TEST(EquivalenceTest, StealingTakesTheUnionBatchsSteps) {
  v1::JobSpec job = SmallJob("bsp:steal=true,redo=false", /*workers=*/4);
  job.set_batch_size(8);
  job.set_learning_rate(0.01);
  job.set_micro_batch(3);
  job.mutable_stop()->set_epochs(4);
  PlainSgd plain(job, 32, /*strength=*/4, /*momentum=*/0);
  plain.Run(int64_t{4} * 1024);
  EXPECT_LE(Distance(Train(job, /*servers=*/2, "cpu", absl::Milliseconds(20)),
                     plain.Weights()),
            1e-5f);
}

TEST(EquivalenceTest, SquareRootStrengthHalvesTheUnionBatchsStep) {
  v1::JobSpec job = SmallJob("bsp", /*workers=*/4);
  job.set_batch_size(8);
  job.set_learning_rate(0.01);
  job.mutable_stop()->set_epochs(4);
  job.set_round_strength("sqrt");
  PlainSgd plain(job, 32, /*strength=*/2, /*momentum=*/0);
  plain.Run(int64_t{4} * 1024);
  EXPECT_LE(Distance(Train(job, /*servers=*/2), plain.Weights()), 1e-4f);
}

TEST(EquivalenceTest, MicroBatchesChangeNothingButRounding) {
  v1::JobSpec job = SmallJob("bsp", /*workers=*/1);
  job.set_micro_batch(12);  // 12, 12, 8.
  job.set_learning_rate(0.01);
  job.mutable_stop()->set_epochs(4);
  PlainSgd plain(job, 32, /*strength=*/1, /*momentum=*/0);
  plain.Run(int64_t{4} * 1024);
  EXPECT_LE(Distance(Train(job, /*servers=*/2), plain.Weights()), 1e-4f);
}

// What a worker does otherwise for a device with a memory of its own: batches,
// parameters and gradients come and go beside the computation.
TEST(EquivalenceTest, ADeviceTakesTheCpusSteps) {
  // Of the device's queues.
  constexpr uint64_t kSchedules = kSanitized ? 2 : 5;
  v1::JobSpec job = SmallJob("bsp", /*workers=*/1);
  job.set_learning_rate(0.01);
  job.set_micro_batch(12);
  job.mutable_stop()->set_epochs(2);
  for (const v1::WireFormat wire : {v1::FP32, v1::BF16, v1::FP16, v1::INT8}) {
    job.set_wire(wire);
    for (uint64_t seed = 1; seed <= kSchedules; ++seed) {
      SetQueuedGpu({.seed = 1000 * seed});
      job.set_seed(seed);
      EXPECT_EQ(Distance(Train(job, /*servers=*/2, "cuda"),
                         Train(job, /*servers=*/2)),
                0)
          << "wire " << wire << ", seed " << seed;
    }
  }
}

// The devices of each worker divide its micro-batches: 12 is 4, 4 and 4.
TEST(EquivalenceTest, WorkersOfSeveralDevicesTakeTheSteps) {
  v1::JobSpec job = SmallJob("bsp", /*workers=*/2);
  job.set_batch_size(16);
  job.set_micro_batch(12);
  job.set_learning_rate(0.01);
  job.mutable_stop()->set_epochs(4);
  PlainSgd plain(job, 32, /*strength=*/2, /*momentum=*/0);
  plain.Run(int64_t{4} * 1024);
  const Tensors on_cpus =
      Train(job, /*servers=*/2, "cpu", std::nullopt, {0, 0, 0});
  EXPECT_LE(Distance(on_cpus, plain.Weights()), 1e-4f);
  SetQueuedGpu({});
  EXPECT_LE(Distance(Train(job, /*servers=*/2, "cuda", std::nullopt, {0, 1, 2}),
                     on_cpus),
            1e-5f);
}

// Gradients that wait for their plan, and those of a step that is extended,
// stay on all devices until they are pushed.
TEST(EquivalenceTest, SeveralDevicesTakeTheStepsUnderAnyPlan) {
  for (const char* paradigm :
       {"asp:staleness_weight=inverse", "bsp:steal=true,pieces=2"}) {
    v1::JobSpec job = SmallJob(paradigm, /*workers=*/1);
    job.set_learning_rate(0.01);
    job.mutable_stop()->set_epochs(2);
    const Tensors on_one = Train(job, /*servers=*/2);
    const Tensors on_cpus =
        Train(job, /*servers=*/2, "cpu", std::nullopt, {0, 0, 0});
    EXPECT_LE(Distance(on_cpus, on_one), 1e-5f) << paradigm;
    SetQueuedGpu({});
    const Tensors on_gpus =
        Train(job, /*servers=*/2, "cuda", std::nullopt, {0, 1});
    EXPECT_LE(Distance(on_gpus, on_one), 1e-5f) << paradigm;
  }
}

// Gradients that must wait for their plan, and compensated ones, which need
// the weights that they come from.
TEST(EquivalenceTest, ADeviceTakesTheCpusStepsUnderAnyPlan) {
  // With two pieces a batch is two halves, whatever was measured.
  for (const char* paradigm :
       {"asp:staleness_weight=inverse",
        "asp:staleness_weight=delay_compensated", "bsp:steal=true,pieces=2"}) {
    v1::JobSpec job = SmallJob(paradigm, /*workers=*/1);
    job.set_learning_rate(0.01);
    job.mutable_stop()->set_epochs(2);
    SetQueuedGpu({});
    EXPECT_EQ(
        Distance(Train(job, /*servers=*/2, "cuda"), Train(job, /*servers=*/2)),
        0)
        << paradigm;
  }
}

}  // namespace
}  // namespace paceline
