#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "common/rng.h"
#include "services/worker/parameter_client.h"
#include "tests/services/worker/fake_parameters.h"

// What a job of wire format int8 pushes, and pushes again.

namespace paceline {
namespace {

constexpr size_t kElements = 300;
constexpr size_t kStatistics = 10;

class Int8PushTest : public ::testing::Test {
 protected:
  Int8PushTest() {
    v1::WorkerReady ready;
    ready.add_tensors()->set_size(kElements);
    ready.add_tensors()->set_size(kStatistics);
    ready.mutable_tensors(1)->set_kind(v1::TensorSpec::STATISTIC);
    const v1::BeginJob begin = server_.Begin(ready, /*initialize=*/true);
    TensorArrays arrays;
    arrays.parameters = {absl::MakeSpan(weights_), absl::MakeSpan(means_)};
    arrays.gradients = {BytesOf(gradient_), BytesOf(statistics_)};
    arrays.kinds = {TensorKind::kTrained, TensorKind::kStatistic};
    auto client = ParameterClient::Connect(begin, std::move(arrays),
                                           {.incarnation = 7,
                                            .wire = DType::kInt8,
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
  PushResult Finish() {
    const absl::StatusOr<PushResult> pushed = client_->FinishPush();
    EXPECT_TRUE(pushed.ok()) << pushed.status();
    return pushed.ok() ? *pushed : PushResult();
  }
  // What the gradient and this residual are pushed as; leaves what that lacks.
  std::string Encoded(std::vector<float>& residual) const {
    std::string bytes(Int8Size(kElements), '\0');
    std::vector<float> left(kElements);
    EncodeInt8(gradient_.data(), residual.data(), kElements, bytes.data(),
               left.data());
    residual = left;
    return bytes;
  }

  Rng rng_{1};
  std::vector<float> weights_ = std::vector<float>(kElements, 1.0f);
  std::vector<float> means_ = std::vector<float>(kStatistics, 2.0f);
  std::vector<float> gradient_ = std::vector<float>(kElements);
  std::vector<float> statistics_ = std::vector<float>(kStatistics, 0.1f);
  int64_t iteration_ = 0;
  FakeParameters server_;
  std::unique_ptr<ParameterClient> client_;
};

TEST_F(Int8PushTest, GradientsAreInt8AndOtherValuesAreNot) {
  Begin();
  const PushResult pushed = Finish();
  std::vector<float> residual(kElements);
  EXPECT_EQ(server_.Pushed(0), Encoded(residual));
  EXPECT_EQ(server_.Format(0), v1::INT8);
  EXPECT_EQ(server_.Pushed(1), BytesOf(statistics_));
  EXPECT_EQ(server_.Format(1), v1::FP32);
  EXPECT_EQ(pushed.bytes, Int8Size(kElements) + 4 * kStatistics);
}

TEST_F(Int8PushTest, EachPushMakesGoodTheOneBefore) {
  std::vector<float> residual(kElements);
  for (int i = 0; i < 10; ++i) {
    Begin();
    Finish();
    ASSERT_EQ(server_.Pushed(0), Encoded(residual)) << "push " << i;
  }
}

TEST_F(Int8PushTest, APushThatIsSentAgainIsTheSameAndCountsOnce) {
  std::vector<float> residual(kElements);
  Begin();
  Finish();
  ASSERT_EQ(server_.Pushed(0), Encoded(residual));
  server_.HoldPushes();
  Begin();
  server_.AwaitHeldPush();
  const std::string bytes = Encoded(residual);
  EXPECT_EQ(server_.Pushed(0), bytes);
  for (int again = 0; again < 2; ++again) {
    server_.BreakStreams(absl::UnavailableError("broken by the test"));
    server_.AwaitHeldPush();
    EXPECT_EQ(server_.Pushed(0), bytes);
  }
  server_.AcknowledgePushes();
  Finish();
  Begin();
  Finish();
  EXPECT_EQ(server_.Pushed(0), Encoded(residual));
}

TEST_F(Int8PushTest, WhatIsRefusedChangesNoResidual) {
  std::vector<float> residual(kElements);
  Begin();
  Finish();
  ASSERT_EQ(server_.Pushed(0), Encoded(residual));
  server_.RefuseBlock(0);
  Begin();
  EXPECT_EQ(Finish().blocks_refused, 1u);
  server_.RefuseBlock(std::nullopt);
  Begin();
  EXPECT_EQ(Finish().blocks_refused, 0u);
  EXPECT_EQ(server_.Pushed(0), Encoded(residual));
}

}  // namespace
}  // namespace paceline
