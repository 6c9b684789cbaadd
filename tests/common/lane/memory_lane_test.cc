#include "common/lane/memory_lane.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/common/seed_count.h"

namespace paceline {
namespace {

struct Ends {
  explicit Ends(uint64_t bytes) {
    auto lane = MemoryLane::Make(bytes);
    EXPECT_TRUE(lane.ok()) << lane.status();
    maker = *std::move(lane);
    lane = MemoryLane::Of(UniqueFd(dup(maker->fd())));
    EXPECT_TRUE(lane.ok()) << lane.status();
    taker = *std::move(lane);
  }

  std::unique_ptr<MemoryLane> maker;
  std::unique_ptr<MemoryLane> taker;
};

std::string Read(const MemoryLane& lane, const Lent& lent) {
  const auto bytes = lane.Look(lent);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return bytes.ok() ? std::string(*bytes) : "";
}

TEST(MemoryLaneTest, EachEndReadsWhatTheOtherLends) {
  Ends ends(1000);
  const auto there = ends.maker->Lend({"gra", "", "dient"});
  const auto back = ends.taker->Lend({"weights"});
  ASSERT_TRUE(there.has_value() && back.has_value());
  EXPECT_EQ(Read(*ends.taker, *there), "gradient");
  EXPECT_EQ(Read(*ends.maker, *back), "weights");
  EXPECT_FALSE(ends.maker->Lend({}).has_value()) << "nothing takes no place";
}

// What is asked for finds room at once, and nothing is written over before it
// is given back.
TEST(MemoryLaneTest, IsFullUntilItIsGivenBack) {
  constexpr size_t kPiece = 100'000;
  Ends ends(4 * kPiece);
  const std::string piece(kPiece, 'x');
  std::vector<Lent> lent;
  while (const auto more = ends.maker->Lend({piece})) lent.push_back(*more);
  EXPECT_GE(lent.size(), 4u);
  ends.taker->GiveBack(lent[0]);
  EXPECT_TRUE(ends.maker->Lend({piece}).has_value());
  EXPECT_FALSE(ends.maker->Lend({piece}).has_value());
  // Giving back one means all before it.
  ends.taker->GiveBack(lent.back());
  EXPECT_TRUE(ends.maker->Lend({piece}).has_value());
  EXPECT_TRUE(ends.maker->Lend({piece}).has_value());
}

TEST(MemoryLaneTest, MoreThanARingHasNoRoomEver) {
  Ends ends(1);
  EXPECT_FALSE(ends.maker->Lend({std::string(1 << 20, 'x')}).has_value());
  Ends large(std::numeric_limits<uint64_t>::max());
  EXPECT_TRUE(large.maker->Lend({std::string(1 << 20, 'x')}).has_value());
  EXPECT_FALSE(large.maker->Lend({std::string(9 << 20, 'x')}).has_value());
}

// Any sizes, any pace of the reader, many times round.
TEST(MemoryLaneTest, NothingIsLostOrWrittenOver) {
  for (uint64_t seed = 0; seed < SeedCount(200); ++seed) {
    std::mt19937 draw(static_cast<unsigned>(seed));
    Ends ends(draw() % 50'000);
    std::deque<std::pair<Lent, std::string>> open;
    int inside = 0;
    for (int i = 0; i < 300; ++i) {
      if (draw() % 2 == 0) {
        std::string bytes(1 + draw() % 30'000, static_cast<char>(draw()));
        bytes.back() = static_cast<char>(draw());
        if (const auto lent = ends.maker->Lend({bytes})) {
          open.push_back({*lent, std::move(bytes)});
          ++inside;
        }
      } else if (!open.empty()) {
        const auto [lent, bytes] = std::move(open.front());
        open.pop_front();
        ASSERT_EQ(Read(*ends.taker, lent), bytes) << "seed " << seed;
        ends.taker->GiveBack(lent);
      }
    }
    EXPECT_GT(inside, 50) << "seed " << seed;
  }
}

// One thread lends, another reads, as two processes do.
TEST(MemoryLaneTest, TwoThreads) {
  Ends ends(20'000);
  constexpr int kMessages = 20'000;
  std::atomic<int> ready = 0;
  std::vector<Lent> lent(kMessages);
  std::thread reader([&] {
    for (int i = 0; i < kMessages; ++i) {
      while (ready <= i) std::this_thread::yield();
      const std::string bytes = Read(*ends.taker, lent[i]);
      ASSERT_EQ(bytes, std::string(bytes.size(), static_cast<char>(i)));
      ends.taker->GiveBack(lent[i]);
    }
  });
  for (int i = 0; i < kMessages; ++i) {
    const std::string bytes(1 + i % 5'000, static_cast<char>(i));
    auto place = ends.maker->Lend({bytes});
    while (!place.has_value()) {
      std::this_thread::yield();
      place = ends.maker->Lend({bytes});
    }
    lent[i] = *place;
    ready = i + 1;
  }
  reader.join();
}

// A lane whose taker reads the maker's memory as well.
struct ReferringEnds {
  ReferringEnds() {
    own = *SharedMemory::Create("test", kBytes);
    maker = *MemoryLane::Make(1000);
    auto theirs = SharedMemory::Map(UniqueFd(dup(own->fd())), kBytes,
                                    SharedMemory::Access::kRead);
    EXPECT_TRUE(theirs.ok()) << theirs.status();
    taker = *MemoryLane::Of(UniqueFd(dup(maker->fd())), *std::move(theirs));
    EXPECT_TRUE(taker->has_theirs());
    EXPECT_FALSE(maker->has_theirs());
  }

  static constexpr uint64_t kBytes = 100'000;
  std::shared_ptr<SharedMemory> own;
  std::unique_ptr<MemoryLane> maker;
  std::unique_ptr<MemoryLane> taker;
};

TEST(MemoryLaneTest, WhatIsReferredToIsReadWhereItLies) {
  ReferringEnds ends;
  const absl::string_view all(ends.own->data(), ReferringEnds::kBytes);
  EXPECT_FALSE(ends.maker->Refer(all).has_value()) << "nobody has it yet";
  ends.maker->ReferTo(ends.own);
  for (const auto& [from, length] : {std::pair<size_t, size_t>{0, 5},
                                     {99'999, 1},
                                     {0, ReferringEnds::kBytes}}) {
    std::memset(ends.own->data() + from, 'g', length);
    const auto referred = ends.maker->Refer(all.substr(from, length));
    ASSERT_TRUE(referred.has_value());
    EXPECT_EQ(Read(*ends.taker, *referred), std::string(length, 'g'));
    EXPECT_TRUE(ends.taker->Stood(*referred));
    ends.taker->GiveBack(*referred);
  }
  // The ring does not notice.
  const auto lent = ends.maker->Lend({"ring"});
  ASSERT_TRUE(lent.has_value());
  EXPECT_EQ(lent->position, 0u);
  EXPECT_EQ(Read(*ends.taker, *lent), "ring");
  EXPECT_TRUE(ends.taker->Stood(*lent));
}

TEST(MemoryLaneTest, OnlyWhatWasHandedOverIsReferredTo) {
  ReferringEnds ends;
  ends.maker->ReferTo(ends.own);
  const std::string elsewhere(100, 'x');
  EXPECT_FALSE(ends.maker->Refer(elsewhere).has_value());
  const char* const data = ends.own->data();
  EXPECT_FALSE(ends.maker->Refer({data, 0}).has_value());
  EXPECT_FALSE(
      ends.maker->Refer({data + ReferringEnds::kBytes - 1, 2}).has_value());
  EXPECT_FALSE(ends.maker->Refer({data - 1, 2}).has_value());
}

TEST(MemoryLaneTest, AReferenceOutsideTheMemoryIsRefused) {
  ReferringEnds ends;
  constexpr uint64_t kBytes = ReferringEnds::kBytes;
  EXPECT_TRUE(ends.taker->Look({kBytes - 1, 1, 1}).ok());
  for (const Lent& lent :
       {Lent{kBytes, 1, 1}, Lent{kBytes - 1, 2, 1}, Lent{0, kBytes + 1, 1},
        Lent{~uint64_t{0}, 1, 1}, Lent{~uint64_t{0}, ~uint32_t{0}, 1}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ends.taker->Look(lent).status()))
        << lent.position << " " << lent.length;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(ends.maker->Look({0, 0, 1}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ends.maker->Look({0, 1, 1}).status()))
      << "the taker has handed over none";
}

TEST(MemoryLaneTest, WhatWasWithdrawnDoesNotStand) {
  ReferringEnds ends;
  ends.maker->ReferTo(ends.own);
  const absl::string_view bytes(ends.own->data(), 10);
  const auto first = ends.maker->Refer(bytes);
  const auto second = ends.maker->Refer(bytes);
  ends.maker->Withdraw();
  const auto third = ends.maker->Refer(bytes);
  EXPECT_FALSE(ends.taker->Stood(*first));
  EXPECT_FALSE(ends.taker->Stood(*second));
  EXPECT_TRUE(ends.taker->Stood(*third));
  EXPECT_TRUE(ends.maker->Stood(*first)) << "the other direction's";
}

// One thread writes again what it has withdrawn, another reads it: what it
// takes for sound is.
TEST(MemoryLaneTest, NobodyTakesHalfOfOneAndHalfOfAnother) {
  ReferringEnds ends;
  ends.maker->ReferTo(ends.own);
  const absl::string_view all(ends.own->data(), ReferringEnds::kBytes);
  constexpr int kTimes = 2'000;
  std::vector<Lent> referred(kTimes);
  std::atomic<int> ready = 0;
  std::atomic<bool> over = false;
  std::thread reader([&] {
    std::string copy;
    while (!over) {
      const int now = ready;
      if (now == 0) continue;
      const Lent& lent = referred[now - 1];
      copy = std::string(*ends.taker->Look(lent));
      if (!ends.taker->Stood(lent)) continue;
      ASSERT_EQ(copy, std::string(copy.size(), static_cast<char>(now - 1)));
    }
  });
  for (int i = 0; i < kTimes; ++i) {
    std::memset(ends.own->data(), i, ReferringEnds::kBytes);
    referred[i] = *ends.maker->Refer(all);
    ready = i + 1;
    if (i % 10 == 0) std::this_thread::yield();
    ends.maker->Withdraw();
  }
  const Lent last = *ends.maker->Refer(all);
  over = true;
  reader.join();
  EXPECT_TRUE(ends.taker->Stood(last));
}

// Whoever the other end is, nothing outside the rings is read or written.
TEST(MemoryLaneTest, AHostileEndSpoilsOnlyWhatItIsSent) {
  for (uint64_t seed = 0; seed < SeedCount(200); ++seed) {
    std::mt19937_64 draw(seed);
    Ends ends(1000);
    constexpr size_t kHeaders = 4096;
    const size_t size = lseek(ends.maker->fd(), 0, SEEK_END);
    auto* const memory =
        static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                MAP_SHARED, ends.maker->fd(), 0));
    ASSERT_NE(memory, MAP_FAILED);
    const size_t ring = (size - kHeaders) / 2;
    // The taker's ring, which the maker must not touch by lending.
    const std::string before(memory + kHeaders + ring, ring);
    for (int i = 0; i < 100; ++i) {
      for (size_t at = 0; at < kHeaders; at += sizeof(uint64_t)) {
        const uint64_t anything = draw() >> (draw() % 64);
        std::memcpy(memory + at, &anything, sizeof(anything));
      }
      ends.maker->Lend({std::string(1 + draw() % 20'000, 'x')});
      const Lent lent = {draw() >> (draw() % 64),
                         static_cast<uint32_t>(draw() >> (32 + draw() % 32))};
      const auto bytes = ends.maker->Look(lent);
      if (bytes.ok()) {
        EXPECT_LE(bytes->size(), ring);
        // Read it all, so that AddressSanitizer and the kernel have a say.
        EXPECT_EQ(std::string(*bytes).size(), lent.length);
      } else {
        EXPECT_TRUE(absl::IsInvalidArgument(bytes.status()));
      }
    }
    EXPECT_EQ(std::string(memory + kHeaders + ring, ring), before);
    munmap(memory, size);
  }
}

TEST(MemoryLaneTest, OtherMemoryIsNoLane) {
  for (const uint64_t bytes : {1, 4096, 100'000, 20 << 20}) {
    const auto memory = SharedMemory::Create("test", bytes);
    ASSERT_TRUE(memory.ok());
    const auto lane = MemoryLane::Of(UniqueFd(dup((*memory)->fd())));
    EXPECT_TRUE(absl::IsInvalidArgument(lane.status())) << bytes;
  }
}

}  // namespace
}  // namespace paceline
