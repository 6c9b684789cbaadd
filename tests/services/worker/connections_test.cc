#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "services/worker/parameter_client.h"
#include "tests/services/worker/fake_parameters.h"

// A worker that has several connections to a server.

namespace paceline {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

class ConnectionsTest : public ::testing::Test {
 protected:
  static constexpr int kTensors = 5;  // A block each.
  static constexpr size_t kSize = 100;

  ConnectionsTest() : weights_(kTensors), gradients_(kTensors) {
    for (int i = 0; i < kTensors; ++i) {
      weights_[i].assign(kSize, static_cast<float>(i + 1));
      gradients_[i].assign(kSize, static_cast<float>(10 * (i + 1)));
      ready_.add_tensors()->set_size(kSize);
    }
  }

  void Connect(uint32_t connections) {
    first_.emplace();
    v1::BeginJob begin = first_->Begin(ready_, /*initialize=*/true);
    begin.mutable_shards(0)->set_epoch(1);
    begin.mutable_shards(0)->set_connections(connections);
    TensorArrays arrays;
    for (int i = 0; i < kTensors; ++i) {
      arrays.parameters.push_back(absl::MakeSpan(weights_[i]));
      arrays.gradients.push_back(BytesOf(gradients_[i]));
    }
    auto client = ParameterClient::Connect(
        begin, std::move(arrays),
        {.incarnation = 7, .lease = absl::Seconds(10), .run = 5});
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
    ASSERT_TRUE(client_->SetAll().ok());
  }

  void BeginPush(int64_t iteration) {
    v1::PushBlock header;
    header.set_iteration(iteration);
    header.set_samples(1);
    client_->BeginPush(header);
    client_->PushTensors(0, kTensors);
  }

  // Each weight is what it began with: the server keeps to that.
  void PullAll() {
    for (std::vector<float>& weights : weights_) weights.assign(kSize, -1);
    const absl::StatusOr<PullResult> pulled = client_->Pull(0);
    ASSERT_TRUE(pulled.ok()) << pulled.status();
    EXPECT_EQ(pulled->bytes, kTensors * kSize * sizeof(float));
    for (int i = 0; i < kTensors; ++i) {
      EXPECT_THAT(weights_[i], Each(static_cast<float>(i + 1)));
    }
  }

  v1::WorkerReady ready_;
  std::vector<std::vector<float>> weights_;
  std::vector<std::vector<float>> gradients_;
  std::optional<FakeParameters> first_;
  std::optional<FakeParameters> second_;
  std::unique_ptr<ParameterClient> client_;
};

// The group of the next so many streams to the server; 0: they are of several.
uint64_t NextGroup(FakeParameters& server, int streams) {
  const uint64_t group = server.NextHello().group();
  for (int i = 1; i < streams; ++i) {
    if (server.NextHello().group() != group) return 0;
  }
  return group;
}

TEST_F(ConnectionsTest, BlocksAreDealtOutToThem) {
  Connect(2);
  EXPECT_NE(NextGroup(*first_, 2), 0u);
  for (int64_t iteration : {1, 2}) {
    BeginPush(iteration);
    EXPECT_TRUE(client_->FinishPush().ok());
    PullAll();
  }
  EXPECT_THAT(first_->PushedByStreams(),
              UnorderedElementsAre(ElementsAre(4, 2, 0, 4, 2, 0),
                                   ElementsAre(3, 1, 3, 1)));
}

TEST_F(ConnectionsTest, OneIsAsItAlwaysWas) {
  Connect(0);
  EXPECT_EQ(first_->NextHello().group(), 0u);
  BeginPush(1);
  EXPECT_TRUE(client_->FinishPush().ok());
  PullAll();
  EXPECT_THAT(first_->PushedByStreams(),
              ElementsAre(ElementsAre(4, 3, 2, 1, 0)));
}

// With more of them than blocks some have nothing to do but their pulls' ends.
TEST_F(ConnectionsTest, ThereMayBeMoreOfThemThanBlocks) {
  Connect(99);
  EXPECT_NE(NextGroup(*first_, 16), 0u);
  BeginPush(1);
  EXPECT_TRUE(client_->FinishPush().ok());
  PullAll();
  EXPECT_EQ(first_->PushedByStreams().size(), 5u);
}

TEST_F(ConnectionsTest, IfOneBreaksAllAreDialledAgain) {
  Connect(3);
  const uint64_t group = NextGroup(*first_, 3);
  for (int64_t iteration : {1, 2, 3}) {
    first_->HoldPushes();
    BeginPush(iteration);
    first_->AwaitHeldPush();
    first_->BreakOneStream(absl::UnavailableError("cut"));
    first_->AwaitHeldPush();  // It was repeated, all of it.
    first_->AcknowledgePushes();
    const absl::StatusOr<PushResult> pushed = client_->FinishPush();
    ASSERT_TRUE(pushed.ok()) << pushed.status();
    EXPECT_EQ(pushed->blocks, 5u);
    const uint64_t next = NextGroup(*first_, 3);
    EXPECT_NE(next, 0u);
    EXPECT_NE(next, group);
    PullAll();
  }
}

TEST_F(ConnectionsTest, APullGoesOnByTheNextGroup) {
  Connect(3);
  first_->HoldPulls();
  std::thread other([this] {
    for (int part = 0; part < 3; ++part) first_->AwaitHeldPull();
    first_->BreakOneStream(absl::UnavailableError("cut"));
    for (int part = 0; part < 3; ++part) first_->AwaitHeldPull();
    first_->AnswerPulls();
  });
  PullAll();
  other.join();
}

TEST_F(ConnectionsTest, AnErrorOfOneIsThatOfAll) {
  Connect(3);
  first_->HoldPushes();
  BeginPush(1);
  first_->AwaitHeldPush();
  first_->BreakOneStream(absl::AbortedError("fenced"));
  EXPECT_TRUE(absl::IsAborted(client_->FinishPush().status()));
}

// What one stream brings could come before the weights by another.
TEST_F(ConnectionsTest, AServerIsFilledBeforeAnythingElse) {
  Connect(2);
  first_->HoldPushes();
  BeginPush(1);
  first_->AwaitHeldPush();
  second_.emplace();
  second_->Begin(ready_, /*initialize=*/false);
  v1::Rewire rewire;
  rewire.set_address(second_->address());
  rewire.set_epoch(2);
  rewire.set_fill(true);
  rewire.set_connections(2);
  client_->Rewire(rewire);
  ASSERT_TRUE(client_->FinishPush().ok());
  EXPECT_NE(NextGroup(*second_, 2), 0u);
  EXPECT_EQ(second_->sets(), 5);
  EXPECT_EQ(second_->early_pushes(), 0);
  PullAll();
  BeginPush(2);
  ASSERT_TRUE(client_->FinishPush().ok());
  EXPECT_EQ(second_->PushedByStreams().size(), 2u) << "as before";
}

}  // namespace
}  // namespace paceline
