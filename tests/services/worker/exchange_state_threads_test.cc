// The exchange as it runs: one worker's thread, and one thread for the
// reactions of each server's stream.

#include <memory>
#include <thread>
#include <vector>

#include "common/mailbox.h"
#include "common/rng.h"
#include "gtest/gtest.h"
#include "services/worker/exchange_state.h"

namespace paceline {
namespace {

constexpr size_t kServers = 3;
constexpr size_t kBlocksEach = 4;
constexpr size_t kBlockSize = 50;

// What the worker asks of a server.
struct Request {
  uint64_t pull = 0;     // 0: none.
  int64_t push = 0;      // 0: none.
  float value = 0;       // Of all elements of the pull.
  bool answered = true;  // Or the server forgets the end of the pull.
};

// A server's stream: answers requests on its own thread, mixed with frames of
// pulls long past.
class FakeServer {
 public:
  FakeServer(size_t index, ExchangeState* state)
      : index_(index), state_(state), thread_([this] { Run(); }) {}
  ~FakeServer() {
    requests_.Close(absl::OkStatus());
    thread_.join();
  }

  void Ask(const Request& request) { requests_.Put(request); }

 private:
  void Run() {
    Rng rng(index_);
    uint64_t past = 0;
    while (true) {
      const auto request = requests_.Take(absl::Minutes(1));
      if (!request.ok()) return;
      if (request->pull != 0) {
        // Would show if they were not ignored.
        if (past != 0) Answer(past, -1, true);
        Answer(request->pull, request->value, request->answered);
        past = request->pull;
      }
      if (request->push != 0) {
        state_->PushTaken(index_, request->push - 1, {7, 8});
        state_->PushTaken(index_, request->push, {7});
      }
    }
  }

  void Answer(uint64_t pull, float value, bool whole) {
    const std::vector<float> values(kBlockSize, value);
    for (size_t i = 0; i < kBlocksEach; ++i) {
      EXPECT_TRUE(state_
                      ->Pulled(index_, pull,
                               static_cast<uint32_t>(index_ * kBlocksEach + i),
                               Payload::OfFloats(values.data(), kBlockSize),
                               DType::kF32)
                      .ok());
    }
    if (whole) {
      state_->PullEnded(index_, pull, absl::OkStatus(), absl::ZeroDuration());
    }
  }

  const size_t index_;
  ExchangeState* const state_;
  Mailbox<Request> requests_;
  std::thread thread_;
};

class ExchangeStateThreadsTest : public ::testing::Test {
 protected:
  ExchangeStateThreadsTest() {
    for (size_t block = 0; block < kServers * kBlocksEach; ++block) {
      const absl::Span<float> place(values_.data() + block * kBlockSize,
                                    kBlockSize);
      EXPECT_TRUE(state_
                      .AddBlock(static_cast<uint32_t>(block),
                                {place, block / kBlocksEach})
                      .ok());
    }
    for (size_t i = 0; i < kServers; ++i) {
      servers_.push_back(std::make_unique<FakeServer>(i, &state_));
    }
  }

  void AskAll(const Request& request) {
    for (const auto& server : servers_) server->Ask(request);
  }

  std::vector<float> values_ =
      std::vector<float>(kServers * kBlocksEach * kBlockSize);
  ExchangeState state_;
  std::vector<std::unique_ptr<FakeServer>> servers_;
};

TEST_F(ExchangeStateThreadsTest, PullsAheadAreWholeAndLeaveTheArraysAlone) {
  AskAll({.pull = state_.BeginPull()});
  EXPECT_TRUE(state_.AwaitPull(absl::Minutes(1)).ok());
  for (int64_t iteration = 1; iteration <= 300; ++iteration) {
    const auto value = static_cast<float>(iteration);
    state_.BeginPush(iteration);
    AskAll({.push = iteration});
    AskAll({.pull = state_.BeginPull(/*whole=*/true,
                                     /*ahead=*/true),
            .value = value});
    uint32_t told = 0;
    const auto tell = [&](const TakenPush& push) { told = push.refused; };
    state_.WhenTaken(tell);
    EXPECT_EQ(state_.AwaitPush(absl::Minutes(1))->refused, kServers);
    EXPECT_EQ(told, kServers);
    // Every third one is not wanted after all.
    for (const float got : values_) ASSERT_LT(got, value);
    if (iteration % 3 == 0) continue;
    size_t tensors = 0;
    EXPECT_EQ(
        state_.AwaitPull(absl::Minutes(1), [&](size_t) { ++tensors; })->bytes,
        values_.size() * sizeof(float));
    EXPECT_EQ(tensors, 1u);  // The places name none.
    for (const float got : values_) ASSERT_EQ(got, value);
  }
}

TEST_F(ExchangeStateThreadsTest, EveryPullIsWholeAndEveryPushCounted) {
  for (int64_t iteration = 1; iteration <= 300; ++iteration) {
    const auto value = static_cast<float>(iteration);
    AskAll({.pull = state_.BeginPull(), .value = value});
    EXPECT_EQ(state_.AwaitPull(absl::Minutes(1))->bytes,
              values_.size() * sizeof(float));
    for (const float got : values_) ASSERT_EQ(got, value);
    state_.BeginPush(iteration);
    AskAll({.push = iteration});
    EXPECT_EQ(state_.AwaitPush(absl::Minutes(1))->refused, kServers);
  }
}

// A pull of which one server says nothing is given up; the next one is whole
// although blocks of the earlier one may still be on their way.
TEST_F(ExchangeStateThreadsTest, APullGivenUpLeavesNothingBehind) {
  for (int round = 1; round <= 30; ++round) {
    const uint64_t given_up = state_.BeginPull();
    for (size_t i = 0; i < kServers; ++i) {
      servers_[i]->Ask({.pull = given_up, .value = -2, .answered = i > 0});
    }
    EXPECT_TRUE(absl::IsUnavailable(
        state_.AwaitPull(absl::Microseconds(200)).status()));
    const auto value = static_cast<float>(round);
    AskAll({.pull = state_.BeginPull(), .value = value});
    EXPECT_TRUE(state_.AwaitPull(absl::Minutes(1)).ok());
    for (const float got : values_) ASSERT_EQ(got, value);
  }
}

TEST_F(ExchangeStateThreadsTest, ABrokenStreamWakesAllWhoWait) {
  state_.BeginPull();
  state_.BeginPush(1);
  state_.BeginSet();
  std::vector<std::thread> waiting;
  waiting.emplace_back([this] {
    EXPECT_EQ(state_.AwaitPull(absl::Minutes(1)).status(),
              absl::AbortedError("fenced"));
  });
  waiting.emplace_back([this] {
    EXPECT_EQ(state_.AwaitPush(absl::Minutes(1)).status(),
              absl::AbortedError("fenced"));
  });
  waiting.emplace_back([this] {
    EXPECT_EQ(state_.AwaitSet(absl::Minutes(1)), absl::AbortedError("fenced"));
  });
  std::thread breaking([this] { state_.Broken(absl::AbortedError("fenced")); });
  breaking.join();
  for (std::thread& thread : waiting) thread.join();
}

}  // namespace
}  // namespace paceline
