// Both halves of a session, and a network between them that breaks.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/rng.h"
#include "common/session/received_log.h"
#include "common/session/sent_log.h"
#include "gtest/gtest.h"
#include "tests/common/seed_count.h"

namespace paceline {
namespace {

struct Message {
  void set_number(uint64_t to) { number = to; }

  uint64_t number = 0;
  uint64_t acknowledged = 0;
  int64_t value = 0;
};

using Log = SentLog<Message>;

Message Value(int64_t value) {
  Message message;
  message.value = value;
  return message;
}

std::vector<int64_t> Kept(const Log& log) {
  std::vector<int64_t> values;
  for (const Log::Kept& kept : log.kept()) values.push_back(kept.message.value);
  return values;
}

TEST(SentLogTest, KeepsWhatIsNotAcknowledged) {
  Log log({.messages = 10});
  for (int64_t i = 1; i <= 4; ++i) {
    Message message = Value(10 * i);
    EXPECT_TRUE(log.Add(message, 1));
    EXPECT_EQ(message.number, static_cast<uint64_t>(i));
  }
  EXPECT_TRUE(log.Acknowledge(2).ok());
  EXPECT_EQ(Kept(log), (std::vector<int64_t>{30, 40}));
  EXPECT_TRUE(log.Acknowledge(1).ok()) << "an older one changes nothing";
  EXPECT_TRUE(log.Resume(3).ok());
  EXPECT_EQ(Kept(log), (std::vector<int64_t>{40}));
  EXPECT_EQ(log.last(), 4u);
}

TEST(SentLogTest, RefusesNumbersThatCannotBe) {
  Log log({.messages = 10});
  Message message = Value(1);
  ASSERT_TRUE(log.Add(message, 1));
  EXPECT_EQ(log.Acknowledge(2).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(log.Acknowledge(1).ok());
  EXPECT_EQ(log.Resume(0).code(), absl::StatusCode::kInvalidArgument)
      << "it is kept no longer";
}

TEST(SentLogTest, GoesOnAfterWhatHasArrived) {
  Log log({.messages = 3}, 7);
  Message message;
  ASSERT_TRUE(log.Add(message, 1));
  EXPECT_EQ(message.number, 8u);
  EXPECT_EQ(log.last(), 8u);
  EXPECT_FALSE(log.Resume(6).ok()) << "that is kept no longer";
  EXPECT_TRUE(log.Resume(7).ok());
  EXPECT_EQ(log.kept().size(), 1u);
}

TEST(SentLogTest, HasLimits) {
  Log log({.messages = 3, .bytes = 100});
  Message message;
  EXPECT_TRUE(log.Add(message, 500)) << "one may be larger";
  EXPECT_FALSE(log.Add(message, 1));
  ASSERT_TRUE(log.Acknowledge(1).ok());
  EXPECT_TRUE(log.Add(message, 60));
  EXPECT_FALSE(log.Add(message, 41));
  EXPECT_TRUE(log.Add(message, 40));
  EXPECT_TRUE(log.Add(message, 0));
  EXPECT_FALSE(log.Add(message, 0)) << "a fourth";
  EXPECT_EQ(log.last(), 4u) << "what was refused has no number";
}

TEST(ReceivedLogTest, TakesEachOnceAndInOrder) {
  ReceivedLog log;
  EXPECT_EQ(*log.Take(1), true);
  EXPECT_EQ(*log.Take(2), true);
  EXPECT_EQ(*log.Take(1), false);
  EXPECT_EQ(log.Take(4).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(*log.Take(3), true);
  EXPECT_EQ(log.last(), 3u);
}

TEST(ReceivedLogTest, GoesOnAfterWhatHasCome) {
  ReceivedLog log(7);
  EXPECT_FALSE(*log.Take(7));
  EXPECT_FALSE(log.Take(9).ok());
  EXPECT_TRUE(*log.Take(8));
  EXPECT_EQ(log.Tell(), 8u);
}

TEST(ReceivedLogTest, SaysWhenItMustTell) {
  ReceivedLog log;
  for (uint64_t i = 1; i < ReceivedLog::kUntold; ++i) {
    ASSERT_TRUE(log.Take(i).ok());
  }
  EXPECT_FALSE(log.must_tell());
  ASSERT_TRUE(log.Take(ReceivedLog::kUntold).ok());
  EXPECT_TRUE(log.must_tell());
  EXPECT_EQ(log.Tell(), ReceivedLog::kUntold);
  EXPECT_FALSE(log.must_tell());
}

// One end of a session: says 1, 2, 3, ... and notes what it hears.
struct End {
  Log sent{{.messages = 1'000}};
  ReceivedLog received;
  int64_t said = 0;
  std::vector<int64_t> heard;

  Message Next() {
    Message message = Value(++said);
    EXPECT_TRUE(sent.Add(message, 1));
    message.acknowledged = received.Tell();
    return message;
  }
  void Hear(const Message& message) {
    const absl::Status acknowledged = sent.Acknowledge(message.acknowledged);
    ASSERT_TRUE(acknowledged.ok()) << acknowledged;
    if (message.number == 0) return;
    const auto is_new = received.Take(message.number);
    ASSERT_TRUE(is_new.ok()) << is_new.status();
    if (*is_new) heard.push_back(message.value);
  }
};

// Two ends and one link after the other. What is on its way when a link is cut
// is lost, but for a part of it that arrives late, when both have said already
// from where they take the session up.
class Network {
 public:
  explicit Network(uint64_t seed) : rng_(seed) {}

  void Run(int steps) {
    for (int i = 0; i < steps; ++i) Step();
    while (!up_) TakeUp();
    while (!way_[0].empty() || !way_[1].empty()) {
      Deliver(0);
      Deliver(1);
    }
    for (int side : {0, 1}) {
      std::vector<int64_t> all;
      for (int64_t i = 1; i <= ends_[1 - side].said; ++i) all.push_back(i);
      EXPECT_EQ(ends_[side].heard, all);
    }
  }

 private:
  void Step() {
    const int side = static_cast<int>(rng_.Below(2));
    switch (rng_.Below(up_ ? 8 : 3)) {
      case 0:
      case 1: {
        Message message = ends_[side].Next();
        if (up_) way_[side].push_back(message);
        return;
      }
      case 2:
        return up_ ? Cut() : TakeUp();
      default:
        return Deliver(side);
    }
  }

  // What `side` has said and the link carries arrives at the other end.
  void Deliver(int side) {
    if (way_[side].empty()) return;
    ends_[1 - side].Hear(way_[side].front());
    way_[side].pop_front();
  }

  void Cut() {
    for (int side : {0, 1}) {
      // Some of what was sent had arrived.
      for (uint64_t left = rng_.Below(way_[side].size() + 1); left > 0;
           --left) {
        Deliver(side);
      }
      late_[side] = std::exchange(way_[side], {});
    }
    up_ = false;
  }

  // The member's hello, the coordinator's answer, and what follows both.
  void TakeUp() {
    up_ = true;
    const uint64_t hello = ends_[0].received.last();
    const uint64_t welcome = ends_[1].received.last();
    for (int side : {0, 1}) {
      std::deque<Message> late = std::exchange(late_[side], {});
      late.resize(rng_.Below(late.size() + 1));
      for (const Message& message : late) ends_[1 - side].Hear(message);
    }
    Resend(1, hello);
    if (rng_.Chance(1, 4)) return Cut();  // Before the answer has arrived.
    Resend(0, welcome);
  }
  void Resend(int side, uint64_t received) {
    const absl::Status resumed = ends_[side].sent.Resume(received);
    ASSERT_TRUE(resumed.ok()) << resumed;
    for (const Log::Kept& kept : ends_[side].sent.kept()) {
      way_[side].push_back(kept.message);
      way_[side].back().acknowledged = ends_[side].received.Tell();
    }
  }

  Rng rng_;
  End ends_[2];
  std::deque<Message> way_[2];   // By who has sent it.
  std::deque<Message> late_[2];  // Of the link before.
  bool up_ = false;
};

TEST(SessionLogsTest, EachMessageComesOnceWhateverBreaks) {
  for (uint64_t seed = 1; seed <= SeedCount(20'000); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Network(seed).Run(static_cast<int>(20 + seed % 300));
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace paceline
