// Whole models on a GPU beside the same on the CPU. Skipped, visibly, where
// there is no GPU.

#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "common/job/names.h"
#include "gtest/gtest.h"
#include "services/worker/data/synthetic.h"
#include "services/worker/model/model.h"
#include "tests/gpu/twins.h"
#include "tests/services/worker/model/pushed_gradients.h"
#include "tests/services/worker/model/sgd.h"

namespace paceline {
namespace {

constexpr int kBatch = 8;

class ModelTwinTest : public ::testing::TestWithParam<absl::string_view> {
 protected:
  void SetUp() override {
    auto cuda = MakeBackend("cuda");
    if (absl::IsFailedPrecondition(cuda.status()) ||
        absl::IsUnavailable(cuda.status())) {
      GTEST_SKIP() << cuda.status();
    }
    ASSERT_TRUE(cuda.ok()) << cuda.status();
    cuda_ = *std::move(cuda);
    cpu_ = *MakeBackend("cpu");
  }

  // With the starting weights of one seed.
  std::unique_ptr<Model> Make(Backend& backend, int batch,
                              DType wire = DType::kF32);

  std::unique_ptr<Backend> cpu_;
  std::unique_ptr<Backend> cuda_;
};

// What is compared in the end: the loss on images that are not trained on.
struct Sample {
  std::vector<float> images;
  std::vector<uint8_t> labels;
};

Sample SampleOf(const Dataset& data, uint32_t n) {
  std::vector<uint32_t> indices(n);
  std::iota(indices.begin(), indices.end(), data.size() - n);
  Sample sample{std::vector<float>(n * data.shape().size()),
                std::vector<uint8_t>(n)};
  data.Gather(indices, sample.images.data(), sample.labels.data());
  return sample;
}

const Dataset& Data() {
  static const auto* const data =
      new Dataset(*DrawSynthetic("color-shapes", Split::kTrain));
  return *data;
}

std::unique_ptr<Model> ModelTwinTest::Make(Backend& backend, int batch,
                                           DType wire) {
  auto model = Model::Create(GetParam(), Data().shape(), Data().classes(),
                             &backend, batch, wire);
  EXPECT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE((*model)->Initialize(1).ok());
  return *std::move(model);
}

TEST_P(ModelTwinTest, Gradients) {
  const Sample sample = SampleOf(Data(), kBatch);
  const auto cpu = Make(*cpu_, kBatch);
  const auto cuda = Make(*cuda_, kBatch);
  for (Model* model : {cpu.get(), cuda.get()}) {
    const auto loss =
        model->ForwardBackward(sample.images.data(), sample.labels.data(),
                               kBatch, 1.0f / kBatch, /*first=*/true);
    ASSERT_TRUE(loss.ok()) << loss.status();
    ASSERT_TRUE(model->FetchGradients().ok());
  }
  for (size_t t = 0; t < cpu->tensors().size(); ++t) {
    const auto a = cuda->gradient(t), b = cpu->gradient(t);
    EXPECT_TRUE(RelativeError({a.begin(), a.end()}, {b.begin(), b.end()}) <=
                1e-3)
        << cpu->tensors()[t].name;
  }
}

// Repeated from memory, and in buckets, as a worker has it.
TEST_P(ModelTwinTest, Pushing) {
  const Sample sample = SampleOf(Data(), kBatch);
  for (const DType wire : {DType::kF32, DType::kBF16, DType::kF16}) {
    const auto model = Make(*cuda_, kBatch, wire);
    EXPECT_EQ(PushedGradientsDiffer(*model, sample.images, sample.labels), "");
  }
}

TEST_P(ModelTwinTest, Training) {
  const Sample sample = SampleOf(Data(), kBatch);
  const auto cpu = Make(*cpu_, kBatch);
  const auto cuda = Make(*cuda_, kBatch);
  const SgdOptions options{.batch = kBatch};
  Sgd on_cpu(*cpu, *cpu_, Data(), options);
  Sgd on_cuda(*cuda, *cuda_, Data(), options);
  uint32_t done = 0;
  for (const auto& [steps, apart] :
       {std::pair{10u, 1e-3}, std::pair{100u, 5e-2}}) {
    on_cpu.Train(0, done, steps);
    on_cuda.Train(0, done, steps);
    done = steps;
    const auto a =
        cuda->Evaluate(sample.images.data(), sample.labels.data(), kBatch);
    const auto b =
        cpu->Evaluate(sample.images.data(), sample.labels.data(), kBatch);
    ASSERT_TRUE(a.ok() && b.ok()) << a.status() << b.status();
    EXPECT_NEAR(a->loss_sum, b->loss_sum, apart * b->loss_sum)
        << "after " << steps << " steps";
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ModelTwinTest, testing::ValuesIn(ModelNames()),
                         [](const auto& spec) {
                           return absl::StrReplaceAll(spec.param, {{"-", "_"}});
                         });

}  // namespace
}  // namespace paceline
