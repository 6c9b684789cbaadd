#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/rng.h"
#include "services/worker/parameter_client.h"
#include "tests/services/worker/fake_parameters.h"

// Gradients that are fp32 in memory, where the wire format is another one.

namespace paceline {
namespace {

constexpr size_t kConverted = 1001;

class ConvertedPushTest : public ::testing::TestWithParam<DType> {
 protected:
  ConvertedPushTest() {
    v1::WorkerReady ready;
    ready.add_tensors()->set_size(kConverted);
    ready.add_tensors()->set_size(kConverted);
    ready.mutable_tensors(1)->set_kind(v1::TensorSpec::STATISTIC);
    TensorArrays arrays;
    arrays.parameters = {absl::MakeSpan(weights_), absl::MakeSpan(means_)};
    arrays.gradients = {BytesOf(gradient_), BytesOf(statistics_)};
    arrays.kinds = {TensorKind::kTrained, TensorKind::kStatistic};
    arrays.unconverted = true;
    auto client = ParameterClient::Connect(
        server_.Begin(ready, /*initialize=*/true), std::move(arrays),
        {.incarnation = 7,
         .wire = GetParam(),
         .lease = absl::Seconds(10),
         .run = 5});
    EXPECT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
    EXPECT_TRUE(client_->SetAll().ok());
  }

  void Begin() {
    for (float& g : gradient_) g = static_cast<float>(2 * rng_.Unit() - 1);
    v1::PushBlock header;
    header.set_iteration(++iteration_);
    header.set_samples(1);
    client_->BeginPush(header);
    client_->PushTensor(1);
    client_->PushTensor(0);
  }
  static std::string Encoded(const std::vector<float>& floats) {
    std::string bytes(EncodedSize(GetParam(), floats.size()), '\0');
    ConvertFromF32(GetParam(), floats.data(), floats.size(), bytes.data());
    return bytes;
  }

  Rng rng_{1};
  std::vector<float> weights_ = std::vector<float>(kConverted, 1.0f);
  std::vector<float> means_ = std::vector<float>(kConverted, 2.0f);
  std::vector<float> gradient_ = std::vector<float>(kConverted);
  std::vector<float> statistics_ = std::vector<float>(kConverted, 0.1f);
  int64_t iteration_ = 0;
  FakeParameters server_;
  std::unique_ptr<ParameterClient> client_;
};

TEST_P(ConvertedPushTest, EachPushIsWhatAConversionOfAllGives) {
  for (int i = 0; i < 3; ++i) {
    Begin();
    const absl::StatusOr<PushResult> pushed = client_->FinishPush();
    ASSERT_TRUE(pushed.ok()) << pushed.status();
    EXPECT_EQ(pushed->bytes, 2 * EncodedSize(GetParam(), kConverted));
    EXPECT_EQ(server_.Pushed(0), Encoded(gradient_)) << "push " << i;
    EXPECT_EQ(server_.Format(0), ToWire(GetParam()));
    EXPECT_EQ(server_.Pushed(1), Encoded(statistics_));
    EXPECT_EQ(server_.Format(1), ToWire(GetParam()));
  }
}

TEST_P(ConvertedPushTest, APushThatIsSentAgainIsTheSame) {
  server_.HoldPushes();
  Begin();
  server_.AwaitHeldPush();
  server_.BreakStreams(absl::UnavailableError("broken by the test"));
  server_.AwaitHeldPush();
  EXPECT_EQ(server_.Pushed(0), Encoded(gradient_));
  server_.AcknowledgePushes();
  EXPECT_TRUE(client_->FinishPush().ok());
}

INSTANTIATE_TEST_SUITE_P(Formats, ConvertedPushTest,
                         ::testing::Values(DType::kBF16, DType::kF16,
                                           DType::kF32),
                         [](const auto& format) {
                           return std::string(DTypeName(format.param));
                         });

}  // namespace
}  // namespace paceline
