#include "common/connections/connection_budget.h"

#include <algorithm>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/seed_count.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Id = ConnectionBudget::Id;

constexpr char kHost[] = "ipv4:10.0.0.1";

ConnectionBudget::Limits Small() {
  return {.strangers = {.each = 100'000, .in_all = 250'000},
          .known = {.each = 10'000, .in_all = 20'000},
          .connections = 5,
          .strangers_open = 4,
          .strangers_of_one_address = 2};
}

std::vector<Id> Ids(const std::vector<ConnectionBudget::Cut>& cuts) {
  std::vector<Id> ids;
  for (const auto& cut : cuts) ids.push_back(cut.id);
  return ids;
}

absl::Time At(double seconds) {
  return absl::UnixEpoch() + absl::Seconds(seconds);
}

TEST(ConnectionBudgetTest, AStrangerOwesAllThatItSent) {
  ConnectionBudget budget(Small());
  budget.Open(1, kHost);
  EXPECT_TRUE(budget.Read(1, {.received = 60'000}, At(0)));
  EXPECT_FALSE(budget.Read(1, {.received = 60'000}, At(1'000)));
  EXPECT_EQ(budget.owed(1), 60'000);
  // Neither calls that are refused nor waiting nor listening earn anything.
  EXPECT_TRUE(budget.Read(1,
                          {.received = 100'000,
                           .sent = 1'000'000,
                           .messages = 9,
                           .message_bytes = 90'000},
                          At(1'000'000)));
  EXPECT_EQ(budget.owed(1), 100'000);
  EXPECT_THAT(budget.Exceeding(), IsEmpty());
  budget.Read(1, {.received = 100'001}, At(1'000'000));
  const auto cuts = budget.Exceeding();
  ASSERT_EQ(cuts.size(), 1u);
  EXPECT_EQ(cuts[0].id, 1u);
  EXPECT_EQ(cuts[0].reason, CutReason::kTooMuch);
  EXPECT_TRUE(cuts[0].stranger);
  EXPECT_EQ(cuts[0].owed, 100'001);
  EXPECT_THAT(budget.Exceeding(), IsEmpty());  // Once is enough.
}

TEST(ConnectionBudgetTest, MessagesAreTakenOffWhatAKnownOneOwes) {
  ConnectionBudget budget(Small());
  budget.Open(1, kHost);
  budget.Read(1, {.received = 8'000, .authorized = true}, At(0));
  EXPECT_EQ(budget.owed(1), 8'000);
  // 1,600 and an eighth of it, and a KiB for what a message has beside it.
  budget.Read(1,
              {.received = 8'000,
               .messages = 1,
               .message_bytes = 1'600,
               .authorized = true},
              At(0));
  EXPECT_EQ(budget.owed(1), 8'000 - 1'800 - 1'024);
  EXPECT_THAT(budget.Exceeding(), IsEmpty());
}

TEST(ConnectionBudgetTest, AKnownOneMayAcknowledgeAndPing) {
  ConnectionBudget budget(Small());
  budget.Open(1, kHost);
  budget.Read(1, {.received = 5'000, .authorized = true}, At(0));
  budget.Read(1, {.received = 5'000, .sent = 8'000, .authorized = true}, At(0));
  EXPECT_EQ(budget.owed(1), 4'000);
  budget.Read(1, {.received = 5'000, .sent = 8'000, .authorized = true}, At(2));
  EXPECT_EQ(budget.owed(1), 4'000 - 512);
}

TEST(ConnectionBudgetTest, NobodySavesUp) {
  ConnectionBudget budget(Small());
  budget.Open(1, kHost);
  ConnectionBudget::Reading reading = {.received = 1'000,
                                       .messages = 1'000,
                                       .message_bytes = 900,
                                       .authorized = true};
  budget.Read(1, reading, At(0));
  EXPECT_EQ(budget.owed(1), 0);
  reading.received += 10'001;
  budget.Read(1, reading, At(0));
  EXPECT_EQ(budget.owed(1), 10'001);
  EXPECT_THAT(Ids(budget.Exceeding()), ElementsAre(1));
}

// A reader that is kept from its processor between its two questions must not
// take what came meanwhile for a debt.
TEST(ConnectionBudgetTest, WhatWasTakenDuringTheReadingIsNotHeldAgainstIt) {
  ConnectionBudget budget(Small());
  budget.Open(1, kHost);
  ConnectionBudget::Reading reading = {.received = 50'000,
                                       .later_messages = 40,
                                       .later_message_bytes = 49'000,
                                       .authorized = true};
  budget.Read(1, reading, At(0));
  EXPECT_EQ(budget.owed(1), 50'000);
  EXPECT_THAT(budget.Exceeding(), IsEmpty());
  // It is taken off once, at the next.
  reading.messages = 40;
  reading.message_bytes = 49'000;
  reading.received += 10'001;
  budget.Read(1, reading, At(0));
  EXPECT_EQ(budget.owed(1), 0);
  reading.received += 10'001;
  budget.Read(1, reading, At(0));
  EXPECT_THAT(Ids(budget.Exceeding()), ElementsAre(1));
}

// What the kernel says of what is read is put together from two answers.
TEST(ConnectionBudgetTest, AReadingMaySeemToGoBack) {
  ConnectionBudget budget(Small());
  budget.Open(1, kHost);
  budget.Read(1, {.received = 90}, At(0));
  budget.Read(1, {.received = 70}, At(0));
  EXPECT_EQ(budget.owed(1), 70);
  budget.Read(1, {.received = 95}, At(0));
  EXPECT_EQ(budget.owed(1), 95);
}

TEST(ConnectionBudgetTest, TogetherTheLargestAreCutFirst) {
  ConnectionBudget budget(Small());
  const uint64_t received[] = {90'000, 60'000, 80'000, 70'000};
  for (Id id = 1; id <= 4; ++id) {
    budget.Open(id, kHost);
    budget.Read(id, {.received = received[id - 1]}, At(0));
  }
  EXPECT_TRUE(budget.StrangersOweTooMuch());
  const auto cuts = budget.Exceeding();  // 300,000 of 250,000.
  ASSERT_THAT(Ids(cuts), ElementsAre(1));
  EXPECT_EQ(cuts[0].reason, CutReason::kTooMuchInAll);
  budget.Close(1);
  EXPECT_FALSE(budget.StrangersOweTooMuch());
  EXPECT_THAT(budget.Exceeding(), IsEmpty());
  budget.Read(2, {.received = 100'000}, At(0));
  EXPECT_THAT(budget.Exceeding(), IsEmpty());
  budget.Read(4, {.received = 99'000}, At(0));
  EXPECT_THAT(Ids(budget.Exceeding()), ElementsAre(2));
}

// The transport lets go of it a little later.
TEST(ConnectionBudgetTest, WhatIsEndingStillTakesRoom) {
  ConnectionBudget budget(Small());
  for (Id id = 1; id <= 4; ++id) {
    budget.Open(id, kHost);
    budget.Read(id, {.received = id == 4 ? 60'000u : 80'000u + id}, At(0));
  }
  EXPECT_THAT(Ids(budget.Exceeding()), ElementsAre(3));  // 300,006 in all.
  EXPECT_TRUE(budget.StrangersOweTooMuch());
  EXPECT_THAT(Ids(budget.Exceeding()), ElementsAre(2));
  EXPECT_THAT(Ids(budget.Exceeding()), ElementsAre(1));
  EXPECT_THAT(budget.Exceeding(), IsEmpty());  // The last is not worth it.
  budget.Close(1);
  EXPECT_FALSE(budget.StrangersOweTooMuch());
}

// Otherwise they would keep everybody else out for as long as they like.
TEST(ConnectionBudgetTest, ManyThatOweLittleAreCutToo) {
  ConnectionBudget budget(Small());
  for (Id id = 1; id <= 5; ++id) {
    budget.Open(id, kHost);
    budget.Read(id, {.received = 60'000}, At(0));
  }
  EXPECT_TRUE(budget.StrangersOweTooMuch());
  EXPECT_THAT(Ids(budget.Exceeding()), ElementsAre(5));
  EXPECT_THAT(budget.Exceeding(), IsEmpty());
  budget.Close(5);
  EXPECT_FALSE(budget.StrangersOweTooMuch());
}

TEST(ConnectionBudgetTest, WhoseEndHasBegunIsNotChosen) {
  ConnectionBudget budget(Small());
  budget.Open(1, kHost);
  budget.Read(1, {.received = 200'000}, At(0));
  budget.Ending(1);
  EXPECT_THAT(budget.Exceeding(), IsEmpty());
  EXPECT_FALSE(budget.OldestStranger().has_value());
  EXPECT_EQ(budget.open(), 1u);
}

TEST(ConnectionBudgetTest, AQuarterOfWhatEitherKindMayOweFillsUp) {
  ConnectionBudget budget(Small());
  EXPECT_FALSE(budget.FillsUp());
  budget.Open(1, kHost);
  budget.Open(2, kHost);
  budget.Read(1, {.received = 62'500}, At(0));
  EXPECT_FALSE(budget.FillsUp());
  // What is on its way out counts.
  budget.Ending(1);
  budget.Read(2, {.received = 1}, At(0));
  EXPECT_TRUE(budget.FillsUp());
  budget.Close(1);
  EXPECT_FALSE(budget.FillsUp());
  budget.Read(2, {.received = 5'000, .authorized = true}, At(0));
  EXPECT_FALSE(budget.FillsUp());
  budget.Read(2, {.received = 5'001, .authorized = true}, At(0));
  EXPECT_TRUE(budget.FillsUp());
}

TEST(ConnectionBudgetTest, StrangersCostKnownConnectionsNothing) {
  ConnectionBudget budget(Small());
  budget.Open(1, kHost);
  budget.Read(1, {.received = 9'999, .authorized = true}, At(0));
  for (Id id = 2; id <= 6; ++id) {
    budget.Open(id, kHost);
    budget.Read(id, {.received = 99'000}, At(0));
  }
  EXPECT_THAT(Ids(budget.Exceeding()), ElementsAre(6, 5, 4));
}

TEST(ConnectionBudgetTest, WhoBecomesKnownStillOwesWhatItOwed) {
  ConnectionBudget budget(Small());
  budget.Open(1, kHost);
  budget.Read(1, {.received = 99}, At(0));
  budget.Authorize(1);
  EXPECT_EQ(budget.strangers(), 0u);
  budget.Authorize(1);
  EXPECT_EQ(budget.strangers(), 0u);
  EXPECT_EQ(budget.owed(1), 99);
}

TEST(ConnectionBudgetTest, AStrangerOfACrowdedAddressMakesRoom) {
  ConnectionBudget budget(Small());
  budget.Open(1, "other");
  budget.Open(2, kHost);
  EXPECT_FALSE(budget.MakeRoomFor(kHost).gives_way.has_value());
  budget.Open(3, kHost);
  const auto room = budget.MakeRoomFor(kHost);
  ASSERT_TRUE(room.gives_way.has_value());
  EXPECT_EQ(room.gives_way->id, 2u);  // The oldest from there, not of all.
  EXPECT_EQ(room.gives_way->reason, CutReason::kCrowded);
  EXPECT_FALSE(room.full);
  EXPECT_FALSE(budget.MakeRoomFor("third").gives_way.has_value());
}

TEST(ConnectionBudgetTest, TheOldestStrangerOfAllMakesRoom) {
  ConnectionBudget budget(Small());
  budget.Open(1, "a");
  budget.Authorize(1);
  for (Id id = 2; id <= 5; ++id) {
    budget.Open(id, std::string(1, static_cast<char>('a' + id)));
  }
  // Four strangers, and five connections in all.
  EXPECT_EQ(budget.MakeRoomFor("z").gives_way->id, 2u);
  EXPECT_EQ(budget.MakeRoomFor("z").gives_way->id, 3u);
  budget.Close(2);
  budget.Close(3);
  EXPECT_FALSE(budget.MakeRoomFor("z").gives_way.has_value());
}

TEST(ConnectionBudgetTest, KnownConnectionsGiveWayToNobody) {
  ConnectionBudget budget(Small());
  for (Id id = 1; id <= 5; ++id) {
    budget.Open(id, kHost);
    budget.Authorize(id);
  }
  const auto room = budget.MakeRoomFor("z");
  EXPECT_FALSE(room.gives_way.has_value());
  EXPECT_TRUE(room.full);
  EXPECT_FALSE(budget.OldestStranger().has_value());
  budget.Close(3);
  EXPECT_FALSE(budget.MakeRoomFor("z").full);
}

TEST(ConnectionBudgetTest, WhatIsUnknownIsNobodys) {
  ConnectionBudget budget(Small());
  budget.Close(7);
  budget.Authorize(7);
  EXPECT_FALSE(budget.Read(7, {.received = 1}, At(0)));
  EXPECT_EQ(budget.owed(7), 0);
}

// Peers who send what gRPC sends: a message's prefix, frames and records, here
// and there a ping, a window update, a call's headers. The window, the kernel's
// buffer and one message are the most that waits.
TEST(ConnectionBudgetTest, AnHonestPeerIsNeverCut) {
  for (uint64_t seed = 0; seed < SeedCount(500); ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](uint64_t n) { return random() % n; };
    const bool bulk = below(2) == 0;
    const uint64_t largest = bulk ? 2 << 20 : 4 << 20;
    const uint64_t window = bulk ? 8 << 20 : 64 << 10;
    ConnectionBudget::Limits limits;
    if (bulk) limits.known = {.each = 20 << 20, .in_all = 256 << 20};
    ConnectionBudget budget(limits);
    budget.Open(1, kHost);
    ConnectionBudget::Reading reading;
    reading.received = 6'000;  // A handshake.
    uint64_t waiting = 0;
    double now = 0;
    for (int i = 0; i < 5'000; ++i) {
      now += static_cast<double>(below(1'000)) / 1e5;
      const uint64_t size =
          below(20) == 0 ? below(largest) : below(bulk ? 300'000 : 500);
      if (waiting > 0 && waiting + size > window) {
        ++reading.messages;
        reading.message_bytes += waiting;  // As if in one, which earns less.
        waiting = 0;
      }
      waiting += size;
      reading.received += size + 5 + below(400) + size / 16'384 * (9 + 29);
      if (below(10) == 0) reading.received += 46;
      const uint64_t answer = below(10'000);
      reading.sent += answer;
      reading.received += 2 * 13 + answer / 16'384 * 55;
      reading.authorized = true;
      budget.Read(1, reading, At(now));
      ASSERT_THAT(budget.Exceeding(), IsEmpty()) << seed << " " << i;
      ASSERT_LE(budget.owed(1),
                static_cast<int64_t>(window + largest + limits.known.each / 8))
          << seed << " " << i;
    }
  }
}

// A server that is busy with one of a hundred workers, while all others have
// filled their windows.
TEST(ConnectionBudgetTest, ManyHonestPeersMayAllHaveAWindowWaiting) {
  constexpr int64_t kWindow = 8 << 20;
  ConnectionBudget::Limits limits;
  limits.known = {
      .each = 20 << 20, .in_all = 256 << 20, .honest = kWindow + (2 << 20)};
  ConnectionBudget budget(limits);
  for (Id id = 1; id <= 100; ++id) {
    budget.Open(id, kHost);
    ConnectionBudget::Reading reading;
    reading.received = kWindow + 6'000;
    reading.authorized = true;
    budget.Read(id, reading, At(0));
  }
  EXPECT_THAT(budget.Exceeding(), IsEmpty());
}

// Whatever hostile connections do, those that are left owe no more than they
// may, and a cut is never told twice.
TEST(ConnectionBudgetTest, WhatWaitsIsBounded) {
  for (uint64_t seed = 0; seed < SeedCount(500); ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](uint64_t n) { return random() % n; };
    const ConnectionBudget::Limits limits;
    ConnectionBudget budget(limits);
    struct Peer {
      ConnectionBudget::Reading reading;
      bool cut = false;
    };
    std::vector<Peer> peers(100);
    for (Id id = 1; id <= peers.size(); ++id) budget.Open(id, kHost);
    for (int tick = 0; tick < 100; ++tick) {
      int64_t waiting[2] = {};
      for (Id id = 1; id <= peers.size(); ++id) {
        Peer& peer = peers[id - 1];
        if (peer.cut) continue;
        peer.reading.received += below(4) == 0 ? below(3 << 20) : 0;
        if (below(50) == 0) peer.reading.authorized = true;
        budget.Read(id, peer.reading, At(tick * 0.01));
      }
      for (const auto& cut : budget.Exceeding()) {
        ASSERT_FALSE(peers[cut.id - 1].cut);
        ASSERT_EQ(cut.stranger, !peers[cut.id - 1].reading.authorized);
        peers[cut.id - 1].cut = true;
      }
      for (Id id = 1; id <= peers.size(); ++id) {
        const Peer& peer = peers[id - 1];
        if (peer.cut && below(10) == 0) budget.Close(id);
        if (peer.cut) continue;
        const auto& share =
            peer.reading.authorized ? limits.known : limits.strangers;
        ASSERT_LE(budget.owed(id), share.each);
        waiting[peer.reading.authorized ? 1 : 0] += budget.owed(id);
      }
      ASSERT_LE(waiting[0], limits.strangers.in_all);
      ASSERT_LE(waiting[1], limits.known.in_all);
    }
  }
}

}  // namespace
}  // namespace paceline
