#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "services/worker/parameter_client.h"
#include "tests/services/worker/fake_parameters.h"

// A shard of a worker's job gets another server.

namespace paceline {
namespace {

using ::testing::Each;

constexpr int kTensors = 2;
constexpr size_t kSize = 100;
constexpr int64_t kVersion = 12;

class RewireTest : public ::testing::Test {
 protected:
  RewireTest() {
    for (int i = 0; i < kTensors; ++i) {
      weights_.emplace_back(kSize, static_cast<float>(i + 1));
      gradients_.emplace_back(kSize, static_cast<float>(10 * (i + 1)));
      v1::TensorSpec& tensor = *ready_.add_tensors();
      tensor.set_size(kSize);
    }
  }

  void Connect() {
    first_.emplace();
    v1::BeginJob begin = first_->Begin(ready_, /*initialize=*/true);
    begin.mutable_shards(0)->set_epoch(1);
    TensorArrays arrays;
    for (int i = 0; i < kTensors; ++i) {
      arrays.parameters.push_back(absl::MakeSpan(weights_[i]));
      arrays.gradients.push_back(BytesOf(gradients_[i]));
    }
    ParameterClient::Options options;
    options.incarnation = 7;
    options.run = 5;
    options.lease = absl::Seconds(10);
    options.filled = [this](const v1::ShardFilled& filled) {
      EXPECT_EQ(filled.shard(), 0u);
      EXPECT_EQ(filled.base_version(), kVersion);
      filled_.Put(filled.epoch());
    };
    auto client = ParameterClient::Connect(begin, std::move(arrays), options);
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
    client_->set_base_version(kVersion);
    ASSERT_TRUE(client_->SetAll().ok());
    EXPECT_EQ(first_->NextHello().epoch(), 1u);
    second_.emplace();
    second_->Begin(ready_, /*initialize=*/false);
  }

  void Rewire(uint64_t epoch, bool fill = false) {
    v1::Rewire rewire;
    rewire.set_shard(0);
    rewire.set_address(second_->address());
    rewire.set_epoch(epoch);
    rewire.set_fill(fill);
    client_->Rewire(rewire);
  }

  void BeginPush() {
    v1::PushBlock header;
    header.set_iteration(1);
    header.set_samples(1);
    client_->BeginPush(header);
    client_->PushTensors(0, kTensors);
  }
  std::string Bytes(const std::vector<float>& floats) const {
    return std::string(BytesOf(floats));
  }

  v1::WorkerReady ready_;
  std::vector<std::vector<float>> weights_;
  std::vector<std::vector<float>> gradients_;
  std::optional<FakeParameters> first_;
  std::optional<FakeParameters> second_;
  Mailbox<uint64_t> filled_{10};
  std::unique_ptr<ParameterClient> client_;
};

TEST_F(RewireTest, WhatIsNotAcknowledgedIsPushedAgainThere) {
  Connect();
  first_->HoldPushes();
  BeginPush();
  first_->AwaitHeldPush();
  Rewire(2);
  const absl::StatusOr<PushResult> pushed = client_->FinishPush();
  ASSERT_TRUE(pushed.ok()) << pushed.status();
  EXPECT_EQ(pushed->blocks, kTensors);
  const v1::StreamHello hello = second_->NextHello();
  EXPECT_EQ(hello.epoch(), 2u);
  EXPECT_EQ(hello.run(), 5u);
  EXPECT_EQ(hello.incarnation(), 7u);
  for (int i = 0; i < kTensors; ++i) {
    EXPECT_EQ(second_->Pushed(i), Bytes(gradients_[i]));
  }
  EXPECT_EQ(second_->sets(), 0) << "it has its weights";
}

TEST_F(RewireTest, AnOpenPullIsAskedAgainThere) {
  Connect();
  first_->HoldPulls();
  std::thread other([this] {
    first_->AwaitHeldPull();
    Rewire(2, /*fill=*/true);
  });
  const absl::StatusOr<PullResult> pulled = client_->Pull(0);
  other.join();
  ASSERT_TRUE(pulled.ok()) << pulled.status();
  EXPECT_EQ(pulled->bytes, kTensors * kSize * sizeof(float));
}

TEST_F(RewireTest, AnOldEpochIsPassedOver) {
  Connect();
  Rewire(1);
  BeginPush();
  EXPECT_TRUE(client_->FinishPush().ok());
  EXPECT_EQ(first_->pushes(), 1);
  EXPECT_EQ(second_->pushes(), 0);
}

TEST_F(RewireTest, AServerThatHasNothingIsFilledBeforeAnythingElse) {
  Connect();
  first_->HoldPushes();
  BeginPush();
  first_->AwaitHeldPush();
  first_.reset();
  Rewire(3, /*fill=*/true);
  EXPECT_THAT(filled_.Take(absl::Seconds(30)),
              ::testing::Property(&absl::StatusOr<uint64_t>::value, 3u));
  EXPECT_EQ(second_->sets(), kTensors);
  EXPECT_TRUE(client_->FinishPush().ok());
  EXPECT_EQ(second_->Pushed(0), Bytes(gradients_[0]));
  // What was set there comes back.
  for (std::vector<float>& weights : weights_) {
    std::fill(weights.begin(), weights.end(), 0);
  }
  ASSERT_TRUE(client_->Pull(0).ok());
  EXPECT_THAT(weights_[0], Each(1.0f));
  EXPECT_THAT(weights_[1], Each(2.0f));
}

TEST_F(RewireTest, AServerIsFilledOnce) {
  Connect();
  Rewire(2, /*fill=*/true);
  EXPECT_TRUE(filled_.Take(absl::Seconds(30)).ok());
  // The coordinator tells everybody then, whoever has filled it too.
  Rewire(2);
  second_->BreakStreams(absl::UnavailableError("a test"));
  BeginPush();
  EXPECT_TRUE(client_->FinishPush().ok());
  EXPECT_EQ(second_->sets(), kTensors);
}

}  // namespace
}  // namespace paceline
