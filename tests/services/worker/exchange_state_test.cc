#include "services/worker/exchange_state.h"

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/security/eventually.h"
#include "tests/common/stand_still.h"
#include "tests/services/coordinator/run/manual_clock.h"

namespace paceline {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Long enough for nothing to end by it, and one for what must end by it.
constexpr absl::Duration kLong = absl::Minutes(1);
constexpr absl::Duration kShort = absl::Milliseconds(1);

// Blocks 10 and 11 at server 0, block 20 at server 2, two elements each. Tensor
// 0 is blocks 10 and 20, tensor 1 block 11.
class ExchangeStateTest : public ::testing::Test {
 protected:
  explicit ExchangeStateTest(const Clock* clock = &Clock::Real())
      : state_(clock) {
    const absl::Span<float> values = absl::MakeSpan(values_);
    EXPECT_TRUE(state_.AddBlock(10, {values.subspan(0, 2), 0, 0}).ok());
    EXPECT_TRUE(state_.AddBlock(11, {values.subspan(2, 2), 0, 1}).ok());
    EXPECT_TRUE(state_.AddBlock(20, {values.subspan(4, 2), 2, 0}).ok());
  }

  // Every element of the block is `value`.
  absl::Status Bring(size_t server, uint64_t request, uint32_t block,
                     float value) {
    const float values[2] = {value, value};
    return state_.Pulled(server, request, block, Payload::OfFloats(values, 2),
                         DType::kF32);
  }
  void BringAll(uint64_t request, float value) {
    EXPECT_TRUE(Bring(0, request, 10, value).ok());
    EXPECT_TRUE(Bring(0, request, 11, value).ok());
    EXPECT_TRUE(Bring(2, request, 20, value).ok());
    state_.PullEnded(0, request, absl::OkStatus(), absl::ZeroDuration());
    state_.PullEnded(2, request, absl::OkStatus(), absl::ZeroDuration());
  }

  std::vector<float> values_ = std::vector<float>(6);
  ExchangeState state_;
};

constexpr absl::Duration kSilence = absl::Seconds(30);

// Time passes when the test says so.
class ExchangeStateSilenceTest : public ExchangeStateTest {
 protected:
  ExchangeStateSilenceTest() : ExchangeStateTest(&clock_) {}

  ManualClock clock_;
  std::atomic<bool> over_ = false;
};

TEST_F(ExchangeStateTest, KnowsTheServersThatHostSomething) {
  EXPECT_EQ(state_.servers(), 2u);
  EXPECT_TRUE(state_.Hosts(0));
  EXPECT_FALSE(state_.Hosts(1));
  EXPECT_TRUE(state_.Hosts(2));
}

// It was written again where it lay, and is asked for by the next stream.
TEST_F(ExchangeStateTest, ABlockThatDidNotStandHasNotCome) {
  for (const bool ahead : {false, true}) {
    const uint64_t request = state_.BeginPull(/*whole=*/true, ahead);
    const float rubbish[2] = {8, 9};
    const auto withdrawn = [&](uint64_t of) {
      return state_.Pulled(0, of, 10, Payload::OfFloats(rubbish, 2),
                           DType::kF32, [] { return false; });
    };
    EXPECT_TRUE(absl::IsUnavailable(withdrawn(request)));
    EXPECT_TRUE(withdrawn(request - 1).ok()) << "of no interest";
    state_.Suspended(0, absl::UnavailableError("broke"));
    EXPECT_EQ(state_.Resumed(0).pull, request);
    BringAll(request, 1);
    std::vector<size_t> told;
    const auto pulled =
        state_.AwaitPull(kLong, [&](size_t tensor) { told.push_back(tensor); });
    ASSERT_TRUE(pulled.ok()) << pulled.status();
    EXPECT_EQ(pulled->bytes, sizeof(float) * values_.size());
    EXPECT_EQ(told.size(), 2u);
    EXPECT_THAT(values_, Each(1));
  }
}

// By two streams to server 0, one to server 2.
TEST_F(ExchangeStateTest, APullInPartsEndsWithTheLastOfThem) {
  const uint64_t request = state_.BeginPull();
  state_.AskInParts(0, request, 2);
  EXPECT_TRUE(Bring(0, request, 11, 1).ok());
  const auto end = [&](size_t server, uint32_t part, absl::Duration parked) {
    state_.PullEnded(server, request, absl::OkStatus(), parked, part);
  };
  end(0, 1, absl::Seconds(2));
  end(0, 1, absl::Seconds(9));  // Once is enough, and it is passed over.
  end(0, 7, absl::Seconds(9));  // There is no such part.
  EXPECT_EQ(state_.OpenAt(0).pull, request);
  EXPECT_TRUE(Bring(2, request, 20, 1).ok());
  end(2, 0, absl::ZeroDuration());
  EXPECT_TRUE(Bring(0, request, 10, 1).ok());
  EXPECT_EQ(state_.OpenAt(0).pull, request) << "its end may bring an error";
  end(0, 0, absl::Seconds(1));
  EXPECT_EQ(state_.OpenAt(0).pull, 0u);
  const auto pulled = state_.AwaitPull(kLong);
  ASSERT_TRUE(pulled.ok()) << pulled.status();
  EXPECT_EQ(pulled->parked, absl::Seconds(2)) << "by the slower part";
  EXPECT_THAT(values_, Each(1));
}

// The next one begins with one part.
TEST_F(ExchangeStateTest, PartsAreThoseOfOnePull) {
  const uint64_t first = state_.BeginPull();
  state_.AskInParts(0, first, 4);
  state_.AskInParts(0, first + 1, 2);  // Not open: of no interest.
  const uint64_t second = state_.BeginPull();
  state_.AskInParts(0, first, 3);  // Late.
  BringAll(second, 2);
  EXPECT_TRUE(state_.AwaitPull(kLong).ok());
  EXPECT_THAT(values_, Each(2));
}

TEST_F(ExchangeStateTest, APullFailsWithAnyOfItsParts) {
  const uint64_t request = state_.BeginPull();
  state_.AskInParts(0, request, 2);
  EXPECT_TRUE(Bring(0, request, 10, 1).ok());
  EXPECT_TRUE(Bring(2, request, 20, 1).ok());
  state_.PullEnded(2, request, absl::OkStatus(), absl::ZeroDuration());
  state_.PullEnded(0, request, absl::UnavailableError("not yet"),
                   absl::ZeroDuration(), 1);
  state_.PullEnded(0, request, absl::OkStatus(), absl::ZeroDuration(), 0);
  EXPECT_TRUE(absl::IsUnavailable(state_.AwaitPull(kLong).status()));
}

// One stream of two breaks, after the other has brought its part. Both are
// dialled again, and asked for everything.
TEST_F(ExchangeStateTest, AllPartsAreAskedAgainOfANewGroup) {
  const uint64_t request = state_.BeginPull();
  state_.AskInParts(0, request, 2);
  EXPECT_TRUE(Bring(0, request, 10, 1).ok());
  state_.PullEnded(0, request, absl::OkStatus(), absl::ZeroDuration(), 0);
  state_.Suspended(0, absl::UnavailableError("broke"));
  EXPECT_EQ(state_.Resumed(0).pull, request);
  state_.AskInParts(0, request, 2);
  EXPECT_TRUE(Bring(0, request, 10, 5).ok()) << "again: it has come";
  EXPECT_TRUE(Bring(0, request, 11, 1).ok());
  state_.PullEnded(0, request, absl::OkStatus(), absl::ZeroDuration(), 1);
  EXPECT_EQ(state_.OpenAt(0).pull, request);
  state_.PullEnded(0, request, absl::OkStatus(), absl::ZeroDuration(), 0);
  EXPECT_TRUE(Bring(2, request, 20, 1).ok());
  state_.PullEnded(2, request, absl::OkStatus(), absl::ZeroDuration());
  EXPECT_TRUE(state_.AwaitPull(kLong).ok());
  EXPECT_THAT(values_, Each(1));
}

TEST_F(ExchangeStateTest, TellsOfATensorWhenAllItsBlocksAreThere) {
  for (int pull = 0; pull < 3; ++pull) {
    const uint64_t request = state_.BeginPull();
    EXPECT_TRUE(Bring(0, request, 10, 1).ok());
    EXPECT_TRUE(Bring(0, request, 11, 1).ok());
    std::vector<size_t> told;
    const auto pulled = state_.AwaitPull(kLong, [&](size_t tensor) {
      told.push_back(tensor);
      // The rest comes only when the first one has been told of.
      if (tensor != 1) return;
      state_.PullEnded(0, request, absl::OkStatus(), absl::ZeroDuration());
      EXPECT_TRUE(Bring(2, request, 20, 1).ok());
      state_.PullEnded(2, request, absl::OkStatus(), absl::ZeroDuration());
    });
    EXPECT_TRUE(pulled.ok()) << pulled.status();
    EXPECT_THAT(told, ElementsAre(1, 0));
  }
}

TEST_F(ExchangeStateTest, TellsOfATensorWhereItsLastBlockIsHeard) {
  const uint64_t request = state_.BeginPull();
  std::vector<std::pair<size_t, std::thread::id>> told;
  std::thread stream([&] {
    EXPECT_TRUE(Eventually([&] { return state_.waiting(); }));
    EXPECT_TRUE(Bring(0, request, 10, 1).ok());
    EXPECT_TRUE(Bring(0, request, 11, 1).ok());
    // Not when somebody else has woken up.
    EXPECT_THAT(told,
                ElementsAre(std::pair(size_t{1}, std::this_thread::get_id())));
    state_.PullEnded(0, request, absl::OkStatus(), absl::ZeroDuration());
    EXPECT_TRUE(Bring(2, request, 20, 1).ok());
    state_.PullEnded(2, request, absl::OkStatus(), absl::ZeroDuration());
  });
  const auto pulled = state_.AwaitPull(kLong, [&](size_t tensor) {
    told.emplace_back(tensor, std::this_thread::get_id());
  });
  EXPECT_TRUE(pulled.ok()) << pulled.status();
  EXPECT_EQ(told.size(), 2u);
  stream.join();
}

// Of such an array nothing is to be made that others take for weights.
TEST_F(ExchangeStateTest, ABlockThatDidNotStandTearsTheArrayUntilItIsPulled) {
  const uint64_t request = state_.BeginPull();
  const std::vector<float> halves = {1, 2};
  EXPECT_TRUE(absl::IsUnavailable(state_.Pulled(
      0, request, 10, Payload::OfFloats(halves.data(), halves.size()),
      DType::kF32, [] { return false; })));
  EXPECT_TRUE(state_.OpenAt(0).torn);
  EXPECT_FALSE(state_.OpenAt(2).torn);
  state_.Suspended(0, absl::UnavailableError("withdrawn"));
  EXPECT_TRUE(state_.Resumed(0).torn);
  state_.PullEnded(0, request, absl::UnavailableError("parked"),
                   absl::ZeroDuration());
  EXPECT_TRUE(state_.OpenAt(0).torn);
  BringAll(state_.BeginPull(), 3);
  EXPECT_TRUE(state_.AwaitPull(kLong).ok());
  EXPECT_FALSE(state_.OpenAt(0).torn);
}

TEST_F(ExchangeStateTest, TellsNothingOfAPullThatIsOver) {
  const uint64_t old = state_.BeginPull();
  EXPECT_TRUE(Bring(0, old, 10, 1).ok());
  const uint64_t request = state_.BeginPull();
  EXPECT_TRUE(Bring(2, old, 20, 1).ok());
  EXPECT_TRUE(Bring(0, request, 11, 1).ok());
  std::vector<size_t> told;
  EXPECT_FALSE(
      state_.AwaitPull(kShort, [&](size_t tensor) { told.push_back(tensor); })
          .ok());
  EXPECT_THAT(told, ElementsAre(1));
}

// The answer lay unread meanwhile.
TEST_F(ExchangeStateTest, TimeInWhichTheProcessStandsStillIsNoSilence) {
  state_.BeginPush(1);
  std::thread others([&] {
    EXPECT_TRUE(Eventually([&] { return state_.waiting(); }));
    StandStill(absl::Seconds(2));
    // That wait looks some times more.
    absl::Notification never;
    never.WaitForNotificationWithTimeout(absl::Milliseconds(300));
    state_.PushTaken(0, 1, {});
    state_.PushTaken(2, 1, {});
  });
  const auto refused = state_.AwaitPush(absl::Milliseconds(1500));
  EXPECT_TRUE(refused.ok()) << refused.status();
  others.join();
}

TEST_F(ExchangeStateTest, WhatComesAheadIsLaidAsideUntilItIsAwaited) {
  const uint64_t request = state_.BeginPull(/*whole=*/true, /*ahead=*/true);
  EXPECT_TRUE(Bring(0, request, 10, 1).ok());
  EXPECT_TRUE(Bring(0, request, 11, 2).ok());
  state_.PullEnded(0, request, absl::OkStatus(), absl::ZeroDuration());
  EXPECT_THAT(values_, Each(0));
  std::vector<size_t> told;
  const auto pulled = state_.AwaitPull(kLong, [&](size_t tensor) {
    told.push_back(tensor);
    if (tensor != 1) return;
    EXPECT_THAT(values_, ElementsAre(1, 1, 2, 2, 0, 0));
    EXPECT_TRUE(Bring(2, request, 20, 3).ok());
    state_.PullEnded(2, request, absl::OkStatus(), absl::ZeroDuration());
  });
  ASSERT_TRUE(pulled.ok()) << pulled.status();
  EXPECT_EQ(pulled->bytes, 3u * 2 * sizeof(float));
  EXPECT_THAT(told, ElementsAre(1, 0));
  EXPECT_THAT(values_, ElementsAre(1, 1, 2, 2, 3, 3));
}

TEST_F(ExchangeStateTest, NobodyNeedsToHearOfTensorsThatCameAhead) {
  BringAll(state_.BeginPull(/*whole=*/true, /*ahead=*/true), 4);
  EXPECT_TRUE(state_.AwaitPull(kLong).ok());
  EXPECT_THAT(values_, Each(4));
}

TEST_F(ExchangeStateTest, APullThatNobodyAwaitsChangesNothing) {
  BringAll(state_.BeginPull(/*whole=*/true, /*ahead=*/true), 1);
  const uint64_t request = state_.BeginPull();
  EXPECT_THAT(values_, Each(0));
  BringAll(request, 2);
  EXPECT_TRUE(state_.AwaitPull(kLong).ok());
  EXPECT_THAT(values_, Each(2));
}

TEST_F(ExchangeStateTest, WhatIsDeliveredNeedNotBeAwaitedToArrive) {
  const uint64_t request = state_.BeginPull(/*whole=*/true, /*ahead=*/true);
  EXPECT_TRUE(Bring(0, request, 10, 1).ok());
  EXPECT_TRUE(Bring(0, request, 11, 2).ok());
  EXPECT_THAT(values_, Each(0));
  std::vector<size_t> told;
  state_.DeliverPull([&told](size_t tensor) { told.push_back(tensor); });
  EXPECT_THAT(values_, ElementsAre(1, 1, 2, 2, 0, 0));
  EXPECT_THAT(told, ElementsAre(1)) << "what had been laid aside";
  EXPECT_TRUE(Bring(2, request, 20, 3).ok());
  EXPECT_THAT(values_, ElementsAre(1, 1, 2, 2, 3, 3));
  EXPECT_THAT(told, ElementsAre(1, 0));
  state_.PullEnded(0, request, absl::OkStatus(), absl::ZeroDuration());
  state_.PullEnded(2, request, absl::OkStatus(), absl::ZeroDuration());
  // Nobody is told by another function, or of anything twice.
  const auto pulled =
      state_.AwaitPull(kLong, [](size_t) { ADD_FAILURE() << "told anew"; });
  ASSERT_TRUE(pulled.ok()) << pulled.status();
  EXPECT_EQ(pulled->bytes, 3u * 2 * sizeof(float));
  EXPECT_THAT(told, ElementsAre(1, 0));
}

TEST_F(ExchangeStateTest, NobodyIsToldOfAPullThatWasDropped) {
  for (const bool another : {false, true}) {
    values_.assign(values_.size(), 0);
    const uint64_t request = state_.BeginPull(/*whole=*/true, /*ahead=*/true);
    int told = 0;
    state_.DeliverPull([&told](size_t) { ++told; });
    EXPECT_TRUE(Bring(0, request, 10, 1).ok());
    EXPECT_TRUE(Bring(0, request, 11, 2).ok());
    EXPECT_EQ(told, 1);
    uint64_t next = 0;
    if (another) {
      next = state_.BeginPull();
    } else {
      state_.DropPull();
    }
    EXPECT_TRUE(Bring(2, request, 20, 3).ok());
    state_.PullEnded(0, request, absl::OkStatus(), absl::ZeroDuration());
    EXPECT_EQ(told, 1);
    EXPECT_THAT(values_, ElementsAre(1, 1, 2, 2, 0, 0));
    if (!another) next = state_.BeginPull();
    BringAll(next, 7);
    EXPECT_TRUE(state_.AwaitPull(kLong).ok());
    EXPECT_THAT(values_, Each(7));
    EXPECT_EQ(told, 1);
  }
}

// What had come lies aside, and comes once more.
TEST_F(ExchangeStateTest, AStreamMayBreakWhileAPullIsAhead) {
  const uint64_t request = state_.BeginPull(/*whole=*/true, /*ahead=*/true);
  EXPECT_TRUE(Bring(0, request, 10, 1).ok());
  state_.Suspended(0, absl::UnavailableError("broken"));
  EXPECT_EQ(state_.Resumed(0).pull, request);
  BringAll(request, 1);
  EXPECT_TRUE(state_.AwaitPull(kLong).ok());
  EXPECT_THAT(values_, Each(1));
}

TEST_F(ExchangeStateTest, ThePushIsAwaitedWhateverComesAhead) {
  state_.BeginPush(1);
  const uint64_t request = state_.BeginPull(/*whole=*/true, /*ahead=*/true);
  BringAll(request, 1);
  EXPECT_TRUE(absl::IsUnavailable(state_.AwaitPush(kShort).status()));
}

TEST_F(ExchangeStateTest, TellsOfAPushWhereTheLastServerIsHeard) {
  state_.BeginPush(1);
  state_.PushTaken(0, 1, {10, 11});
  std::thread::id told_by;
  std::thread last([&] {
    EXPECT_TRUE(Eventually([&] { return state_.waiting(); }));
    state_.PushTaken(2, 1, {20, 21, 22});
  });
  const std::thread::id others = last.get_id();
  state_.WhenTaken([&](const TakenPush& push) {
    EXPECT_EQ(push.refused, 5u);
    told_by = std::this_thread::get_id();
  });
  const auto taken = state_.AwaitPush(kLong);
  last.join();
  EXPECT_EQ(taken->refused, 5u);
  EXPECT_EQ(told_by, others);
}

TEST_F(ExchangeStateTest, TellsOfAPushThatWasTakenBeforeTheWait) {
  state_.BeginPush(1);
  state_.PushTaken(0, 1, {});
  state_.PushTaken(2, 1, {10});
  int told = 0;
  state_.WhenTaken([&](const TakenPush&) { ++told; });
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(state_.AwaitPush(kLong).ok());
  EXPECT_EQ(told, 1);
}

TEST_F(ExchangeStateTest, NobodyIsToldOfAPushThatIsNotAwaitedAnyMore) {
  state_.BeginPush(1);
  int told = 0;
  state_.WhenTaken([&](const TakenPush&) { ++told; });
  EXPECT_FALSE(state_.AwaitPush(kShort).ok());
  state_.PushTaken(0, 1, {});
  state_.PushTaken(2, 1, {});
  EXPECT_EQ(told, 0);
}

// A server that is older says nothing of it.
TEST_F(ExchangeStateTest, TheSquaresAreKnownOnceAllServersSayThem) {
  state_.BeginPush(1);
  state_.PushTaken(0, 1, {}, 2.5);
  state_.PushTaken(0, 1, {}, 2.5);  // Said again.
  state_.PushTaken(2, 1, {}, 0.25);
  EXPECT_EQ(state_.AwaitPush(kLong)->gradient_square, 2.75);
  for (const bool first : {true, false}) {
    state_.BeginPush(2);
    state_.PushTaken(first ? 0 : 2, 2, {});
    state_.PushTaken(first ? 2 : 0, 2, {}, 2.5);
    EXPECT_EQ(state_.AwaitPush(kLong)->gradient_square, std::nullopt);
  }
}

TEST_F(ExchangeStateTest, ABlockIsPlacedOnce) {
  EXPECT_TRUE(absl::IsInvalidArgument(
      state_.AddBlock(10, {absl::MakeSpan(values_), 1})));
  EXPECT_FALSE(state_.Hosts(1));
}

TEST_F(ExchangeStateTest, APullBringsAllBlocksAndItsBytes) {
  const uint64_t request = state_.BeginPull();
  EXPECT_TRUE(Bring(2, request, 20, 3).ok());
  state_.PullEnded(2, request, absl::OkStatus(), absl::Seconds(3));
  EXPECT_TRUE(Bring(0, request, 11, 2).ok());
  EXPECT_TRUE(Bring(0, request, 10, 1).ok());
  // One server has not ended it.
  EXPECT_FALSE(state_.broken());
  state_.PullEnded(0, request, absl::OkStatus(), absl::Seconds(2));
  const absl::StatusOr<PullResult> pulled = state_.AwaitPull(kLong);
  ASSERT_TRUE(pulled.ok()) << pulled.status();
  EXPECT_EQ(pulled->bytes, 3u * 2 * sizeof(float));
  EXPECT_EQ(pulled->parked, absl::Seconds(3));
  EXPECT_THAT(values_, ElementsAre(1, 1, 2, 2, 3, 3));
}

TEST_F(ExchangeStateTest, WidensTheElementsOfTheWire) {
  const uint64_t request = state_.BeginPull();
  const std::string two_bf16("\x80\x3f\x00\xc0", 4);  // 1, -2
  EXPECT_TRUE(
      state_.Pulled(2, request, 20, Payload(two_bf16), DType::kBF16).ok());
  EXPECT_THAT(values_, ElementsAre(0, 0, 0, 0, 1, -2));
}

TEST_F(ExchangeStateTest, APullWithoutAnAnswerIsUnavailable) {
  const uint64_t request = state_.BeginPull();
  state_.PullEnded(0, request, absl::OkStatus(), absl::ZeroDuration());
  const absl::Status status = state_.AwaitPull(kShort).status();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("1 parameter servers were silent for 1ms"));
}

// Gigabytes over a slow link take longer than any fixed time.
TEST_F(ExchangeStateSilenceTest, APullGoesOnAsLongAsBlocksCome) {
  const uint64_t request = state_.BeginPull();
  std::thread waiting([&] {
    const auto pulled = state_.AwaitPull(kSilence);
    EXPECT_TRUE(pulled.ok()) << pulled.status();
    over_ = true;
  });
  for (const auto& [server, block] :
       std::vector<std::pair<size_t, uint32_t>>{{0, 10}, {0, 11}, {2, 20}}) {
    clock_.Advance(kSilence - absl::Seconds(1));
    EXPECT_TRUE(Bring(server, request, block, 1).ok());
    EXPECT_FALSE(over_);
  }
  for (const size_t server : {0, 2}) {
    clock_.Advance(kSilence - absl::Seconds(1));
    state_.PullEnded(server, request, absl::OkStatus(), absl::ZeroDuration());
  }
  waiting.join();
}

TEST_F(ExchangeStateSilenceTest, AWaitEndsOnSilence) {
  const uint64_t request = state_.BeginPull();
  EXPECT_TRUE(Bring(0, request, 10, 1).ok());
  std::thread waiting([&] {
    const absl::Status ended = state_.AwaitPull(kSilence).status();
    EXPECT_TRUE(absl::IsUnavailable(ended));
    EXPECT_THAT(std::string(ended.message()),
                HasSubstr("2 parameter servers were silent for 30s: waited for "
                          "the weights"));
    over_ = true;
  });
  while (!over_) {
    clock_.Advance(absl::Seconds(1));
    // What belongs to no open exchange is none of it.
    EXPECT_TRUE(Bring(0, request - 1, 11, 1).ok());
    state_.PushTaken(0, 7, {});
    state_.SetTaken(0);
    std::this_thread::yield();
  }
  waiting.join();
}

// A server acknowledges only when it has everything.
TEST_F(ExchangeStateSilenceTest, APushGoesOnAsLongAsFramesLeave) {
  state_.BeginPush(3);
  std::thread waiting([&] {
    const auto refused = state_.AwaitPush(kSilence);
    EXPECT_TRUE(refused.ok()) << refused.status();
  });
  for (int i = 0; i < 10; ++i) {
    clock_.Advance(kSilence - absl::Seconds(1));
    state_.Sent(0);
  }
  state_.PushTaken(0, 3, {});
  clock_.Advance(kSilence - absl::Seconds(1));
  state_.PushTaken(2, 3, {});
  waiting.join();
}

TEST_F(ExchangeStateTest, AFailedPullEndsWhenAllServersHaveAnswered) {
  const uint64_t request = state_.BeginPull();
  state_.PullEnded(0, request, absl::UnavailableError("ask again"),
                   absl::ZeroDuration());
  EXPECT_TRUE(Bring(2, request, 20, 1).ok());
  state_.PullEnded(2, request, absl::AbortedError("second"),
                   absl::ZeroDuration());
  EXPECT_EQ(state_.AwaitPull(kLong).status(),
            absl::UnavailableError("ask again"));
  // The next one is not affected.
  BringAll(state_.BeginPull(), 4);
  EXPECT_TRUE(state_.AwaitPull(kLong).ok());
  EXPECT_THAT(values_, Each(4));
}

TEST_F(ExchangeStateTest, APullThatEndsWithoutItsBlocksIsTheServersBug) {
  const uint64_t request = state_.BeginPull();
  EXPECT_TRUE(Bring(0, request, 10, 1).ok());
  state_.PullEnded(0, request, absl::OkStatus(), absl::ZeroDuration());
  state_.PullEnded(2, request, absl::OkStatus(), absl::ZeroDuration());
  const absl::Status status = state_.AwaitPull(kLong).status();
  EXPECT_TRUE(absl::IsInternal(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("2 blocks missing"));
}

TEST_F(ExchangeStateTest, LateFramesOfAnOlderPullAreIgnored) {
  const uint64_t old = state_.BeginPull();
  EXPECT_FALSE(state_.AwaitPull(kShort).ok());
  // Between the pulls.
  BringAll(old, 7);
  EXPECT_THAT(values_, Each(0));
  const uint64_t current = state_.BeginPull();
  EXPECT_NE(current, old);
  BringAll(old, 7);
  EXPECT_THAT(values_, Each(0));
  EXPECT_TRUE(absl::IsUnavailable(state_.AwaitPull(kShort).status()));
  // Among those of the current one, and after it.
  const uint64_t last = state_.BeginPull();
  BringAll(current, 8);
  EXPECT_THAT(values_, Each(0));
  BringAll(last, 5);
  BringAll(current, 8);
  EXPECT_EQ(state_.AwaitPull(kLong)->bytes, 3u * 2 * sizeof(float));
  BringAll(last, 9);
  EXPECT_THAT(values_, Each(5));
}

TEST_F(ExchangeStateTest, ABlockOfAnotherServerIsRefused) {
  const uint64_t request = state_.BeginPull();
  EXPECT_TRUE(absl::IsInvalidArgument(Bring(2, request, 10, 1)));
  EXPECT_TRUE(absl::IsInvalidArgument(Bring(0, request, 12, 1)));
  EXPECT_THAT(values_, Each(0));
}

// It would stand for one that is missing.
TEST_F(ExchangeStateTest, ABlockThatComesTwiceInOnePullIsRefused) {
  const uint64_t request = state_.BeginPull();
  EXPECT_TRUE(Bring(0, request, 10, 1).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(Bring(0, request, 10, 2)));
  EXPECT_THAT(values_, ElementsAre(1, 1, 0, 0, 0, 0));
  // In the next pull it comes again.
  BringAll(state_.BeginPull(), 3);
  EXPECT_TRUE(state_.AwaitPull(kLong).ok());
}

TEST_F(ExchangeStateTest, APayloadOfAnotherSizeIsRefused) {
  const uint64_t request = state_.BeginPull();
  const float three[3] = {1, 1, 1};
  for (const size_t count : {0, 1, 3}) {
    const absl::Status status = state_.Pulled(
        0, request, 10, Payload::OfFloats(three, count), DType::kF32);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << count;
    EXPECT_THAT(std::string(status.message()), HasSubstr("instead of 8"));
  }
  // The right number of bytes for another element type.
  EXPECT_TRUE(absl::IsInvalidArgument(
      state_.Pulled(0, request, 10, Payload::OfFloats(three, 2), DType::kF16)));
  EXPECT_THAT(values_, Each(0));
}

TEST_F(ExchangeStateTest, APushIsOverWhenEveryServerHasTakenIt) {
  state_.BeginPush(5);
  state_.PushTaken(0, 5, {10});
  EXPECT_TRUE(absl::IsUnavailable(state_.AwaitPush(kShort).status()));
  state_.PushTaken(2, 5, {20, 21, 22});
  EXPECT_EQ(state_.AwaitPush(kLong)->refused, 4u);
  EXPECT_THAT(state_.refused(), ElementsAre(10, 20, 21, 22));
  state_.BeginPush(6);
  EXPECT_THAT(state_.refused(), ElementsAre());
}

TEST_F(ExchangeStateTest, AcknowledgementsOfOtherIterationsAreIgnored) {
  state_.BeginPush(6);
  state_.PushTaken(0, 5, {10, 10, 10});
  state_.PushTaken(0, 7, {10, 10, 10});
  EXPECT_TRUE(absl::IsUnavailable(state_.AwaitPush(kShort).status()));
  state_.PushTaken(0, 6, {});
  state_.PushTaken(2, 6, {});
  state_.PushTaken(2, 6, {10, 10, 10});  // Once more.
  EXPECT_EQ(state_.AwaitPush(kLong)->refused, 0u);
}

TEST_F(ExchangeStateTest, StartingValuesAreSetWhenEveryServerHasThem) {
  state_.SetTaken(0);  // Of nothing.
  state_.BeginSet();
  state_.SetTaken(0);
  EXPECT_TRUE(absl::IsUnavailable(state_.AwaitSet(kShort)));
  state_.SetTaken(2);
  EXPECT_TRUE(state_.AwaitSet(kLong).ok());
}

// Both of them have lost what they had, and are filled by this worker.
TEST_F(ExchangeStateTest, TwoServersAreFilledAtATime) {
  state_.BeginSetAt(0);
  state_.BeginSetAt(2);
  state_.SetTaken(0);
  EXPECT_EQ(state_.OpenAt(0).set, 0u);
  state_.SetTaken(2);
  EXPECT_TRUE(state_.AwaitSet(kLong).ok());
}

TEST_F(ExchangeStateTest, ABrokenStreamEndsEveryWaitForGood) {
  state_.BeginPull();
  state_.BeginPush(1);
  state_.BeginSet();
  EXPECT_FALSE(state_.broken());
  state_.Broken(absl::AbortedError("fenced"));
  state_.Broken(absl::UnavailableError("the other one, later"));
  EXPECT_TRUE(state_.broken());
  EXPECT_EQ(state_.AwaitPull(kLong).status(), absl::AbortedError("fenced"));
  EXPECT_EQ(state_.AwaitPush(kLong).status(), absl::AbortedError("fenced"));
  EXPECT_EQ(state_.AwaitSet(kLong), absl::AbortedError("fenced"));
  BringAll(state_.BeginPull(), 1);
  EXPECT_EQ(state_.AwaitPull(kLong).status(), absl::AbortedError("fenced"));
}

TEST_F(ExchangeStateTest, EndingThePullsEndsThisOneAndTheLater) {
  const uint64_t request = state_.BeginPull();
  EXPECT_TRUE(Bring(0, request, 10, 1).ok());
  state_.EndPulls(absl::CancelledError("stop"));
  state_.EndPulls(absl::UnavailableError("the stream ended later"));
  // A block and an end that were on their way do no harm.
  EXPECT_TRUE(Bring(0, request, 11, 1).ok());
  state_.PullEnded(0, request, absl::OkStatus(), absl::ZeroDuration());
  EXPECT_EQ(state_.AwaitPull(kLong).status(), absl::CancelledError("stop"));
  BringAll(state_.BeginPull(), 1);
  EXPECT_EQ(state_.AwaitPull(kLong).status(), absl::CancelledError("stop"));
  EXPECT_FALSE(state_.broken());
}

TEST_F(ExchangeStateTest, APushOutlivesTheEndOfThePulls) {
  state_.BeginPush(1);
  state_.EndPulls(absl::CancelledError("stop"));
  state_.PushTaken(0, 1, {});
  state_.PushTaken(2, 1, {10});
  EXPECT_EQ(state_.AwaitPush(kLong)->refused, 1u);
}

// Two servers' answers, each counted for itself.
TEST_F(ExchangeStateTest, AServerThatAnswersTwiceStandsForNoOther) {
  const uint64_t request = state_.BeginPull();
  state_.PullEnded(0, request, absl::OkStatus(), absl::ZeroDuration());
  state_.PullEnded(0, request, absl::OkStatus(), absl::ZeroDuration());
  EXPECT_TRUE(absl::IsUnavailable(state_.AwaitPull(kShort).status()));
  state_.BeginPush(1);
  state_.PushTaken(0, 1, {});
  state_.PushTaken(0, 1, {});
  state_.PushTaken(1, 1, {});  // Hosts nothing.
  EXPECT_TRUE(absl::IsUnavailable(state_.AwaitPush(kShort).status()));
}

// A stream that breaks, and the next one.

const absl::Status& Cut() {
  static const absl::Status cut = absl::UnavailableError("server two: cut");
  return cut;
}

TEST_F(ExchangeStateTest, WhatIsOpenAtASuspendedServerIsAskedAgain) {
  EXPECT_EQ(state_.Resumed(2).set, 0u);
  const uint64_t setting = state_.BeginSet();
  state_.Suspended(2, Cut());
  EXPECT_EQ(state_.Resumed(2).set, setting);
  state_.SetTaken(0);
  state_.SetTaken(2);
  EXPECT_EQ(state_.Resumed(2).set, 0u);
  state_.BeginPush(7);
  state_.PushTaken(0, 7, {});
  const uint64_t request = state_.BeginPull();
  state_.PullEnded(2, request, absl::OkStatus(), absl::ZeroDuration());
  state_.Suspended(2, Cut());
  state_.Suspended(0, Cut());
  EXPECT_EQ(state_.Resumed(2).push, 7u);
  EXPECT_EQ(state_.Resumed(2).pull, 0u);
  EXPECT_EQ(state_.Resumed(0).push, 0u);
  EXPECT_EQ(state_.Resumed(0).pull, request);
  EXPECT_FALSE(state_.AwaitPull(kShort).ok());
  EXPECT_EQ(state_.Resumed(0).pull, 0u) << "nobody waits for it any more";
}

TEST_F(ExchangeStateTest, ABlockThatHadComeIsLeftAsItIs) {
  const uint64_t request = state_.BeginPull();
  EXPECT_TRUE(Bring(0, request, 10, 1).ok());
  EXPECT_TRUE(Bring(0, request, 11, 1).ok());
  EXPECT_TRUE(Bring(2, request, 20, 1).ok());
  state_.Suspended(0, Cut());
  EXPECT_EQ(state_.Resumed(0).pull, request);
  // Weights of a later moment, as without rounds.
  EXPECT_TRUE(Bring(0, request, 10, 2).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(Bring(0, request, 10, 3)))
      << "twice by one stream";
  EXPECT_TRUE(absl::IsInvalidArgument(Bring(2, request, 20, 3)))
      << "its stream did not break";
  EXPECT_TRUE(Bring(0, request, 11, 2).ok());
  state_.PullEnded(0, request, absl::OkStatus(), absl::ZeroDuration());
  state_.PullEnded(2, request, absl::OkStatus(), absl::ZeroDuration());
  std::vector<size_t> told;
  const auto pulled =
      state_.AwaitPull(kLong, [&](size_t tensor) { told.push_back(tensor); });
  ASSERT_TRUE(pulled.ok()) << pulled.status();
  EXPECT_EQ(pulled->bytes, 3u * 2 * sizeof(float));
  EXPECT_THAT(told, ElementsAre(1, 0));
  EXPECT_THAT(values_, Each(1));
}

TEST_F(ExchangeStateTest, ABlockMayComeOnceMoreWithEachStream) {
  const uint64_t request = state_.BeginPull();
  EXPECT_TRUE(Bring(0, request, 10, 1).ok());
  for (int stream = 0; stream < 5; ++stream) {
    state_.Suspended(0, Cut());
    state_.Resumed(0);
    EXPECT_TRUE(Bring(0, request, 10, 2).ok());
  }
  EXPECT_TRUE(Bring(0, request, 11, 1).ok());
  EXPECT_THAT(values_, ElementsAre(1, 1, 1, 1, 0, 0));
}

TEST_F(ExchangeStateTest, ASuspendedServerThatIsNotBackIsNamed) {
  state_.BeginPush(1);
  state_.PushTaken(0, 1, {});
  state_.Suspended(2, Cut());
  EXPECT_FALSE(state_.broken());
  const absl::Status ended = state_.AwaitPush(kShort).status();
  EXPECT_TRUE(absl::IsUnavailable(ended));
  EXPECT_THAT(std::string(ended.message()),
              HasSubstr("server two: cut; nothing came for 1ms"));
  EXPECT_TRUE(state_.broken()) << "or a pull would be asked again for ever";
}

TEST_F(ExchangeStateTest, ASilentServerIsNotGivenUpForAnotherThatBroke) {
  const uint64_t request = state_.BeginPull();
  state_.PullEnded(0, request, absl::OkStatus(), absl::ZeroDuration());
  state_.Suspended(0, Cut());
  EXPECT_THAT(std::string(state_.AwaitPull(kShort).status().message()),
              HasSubstr("1 parameter servers were silent"));
  EXPECT_FALSE(state_.broken());
}

// A link that breaks at the same place again and again would otherwise hold
// the worker for ever; what had come for minutes may take minutes again.
TEST_F(ExchangeStateSilenceTest, WhatIsRepeatedCountsAFewTimes) {
  const uint64_t request = state_.BeginPull();
  EXPECT_TRUE(Bring(0, request, 10, 1).ok());
  int streams = 0;
  std::thread waiting([&] {
    EXPECT_TRUE(absl::IsUnavailable(state_.AwaitPull(kSilence).status()));
    over_ = true;
  });
  while (!over_) {
    ++streams;
    state_.Suspended(0, Cut());
    state_.Resumed(0);
    EXPECT_TRUE(Bring(0, request, 10, 1).ok());
    state_.Sent(0);
    clock_.Advance(kSilence - absl::Seconds(1));
    // The waiting thread looks ten times a second.
    const absl::Time looked = Clock::Real().Now() + absl::Milliseconds(250);
    while (!over_ && Clock::Real().Now() < looked) std::this_thread::yield();
  }
  waiting.join();
  EXPECT_GE(streams, 4);
  EXPECT_LE(streams, 7);
}

}  // namespace
}  // namespace paceline
