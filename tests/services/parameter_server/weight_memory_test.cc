#include "services/parameter_server/weight_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "services/parameter_server/block.h"

namespace paceline {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

// What the memory takes of the machine.
uint64_t TakenBytes(const WeightMemory& memory) {
  struct stat found = {};
  EXPECT_EQ(fstat(memory.memory()->fd(), &found), 0);
  return static_cast<uint64_t>(found.st_blocks) * 512;
}

TEST(WeightMemoryTest, ReservesAddressesAndNoMemory) {
  const auto memory = WeightMemory::Create(uint64_t{1} << 36);
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_EQ(TakenBytes(**memory), 0u);
  char* const data = (*memory)->Take(kMiB);
  ASSERT_NE(data, nullptr);
  std::memset(data, 1, kMiB);
  EXPECT_EQ(TakenBytes(**memory), kMiB);
}

TEST(WeightMemoryTest, WhoGetsTheDescriptorCanOnlyRead) {
  const auto memory = WeightMemory::Create(kMiB);
  ASSERT_TRUE(memory.ok());
  const int fd = (*memory)->memory()->fd();
  EXPECT_EQ(mmap(nullptr, kMiB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0),
            MAP_FAILED);
  void* const theirs = mmap(nullptr, kMiB, PROT_READ, MAP_SHARED, fd, 0);
  ASSERT_NE(theirs, MAP_FAILED);
  EXPECT_NE(mprotect(theirs, kMiB, PROT_READ | PROT_WRITE), 0);
  std::memset((*memory)->Take(10), 'w', 10);
  EXPECT_EQ(static_cast<const char*>(theirs)[9], 'w');
  munmap(theirs, kMiB);
}

TEST(WeightMemoryTest, NoTwoHaveTheSame) {
  const auto memory = WeightMemory::Create(100'000);
  ASSERT_TRUE(memory.ok());
  std::vector<std::pair<char*, uint64_t>> taken;
  for (const uint64_t size : {20, 64, 65, 5000, 1, 4096, 20}) {
    char* const data = (*memory)->Take(size);
    ASSERT_NE(data, nullptr) << size;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
    for (const auto& [other, bytes] : taken) {
      EXPECT_TRUE(data + size <= other || other + bytes <= data);
    }
    taken.push_back({data, size});
  }
  for (const auto& [data, size] : taken) (*memory)->TakeBack(data, size);
  std::set<char*> again;
  for (const auto& [data, size] : taken) again.insert((*memory)->Take(size));
  EXPECT_EQ(again.size(), taken.size());
  for (const auto& [data, size] : taken) EXPECT_TRUE(again.contains(data));
}

TEST(WeightMemoryTest, IsNullWithoutRoom) {
  const auto memory = WeightMemory::Create(3 * 4096 + 10);
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ((*memory)->Take(4 * 4096), nullptr);
  char* const data = (*memory)->Take(3 * 4096);
  EXPECT_NE(data, nullptr);
  EXPECT_EQ((*memory)->Take(4096), nullptr);
  (*memory)->TakeBack(data, 3 * 4096);
  EXPECT_EQ((*memory)->Take(3 * 4096), data);
}

// Of what was held for a while, the system gets back all but a part.
TEST(WeightMemoryTest, GivesBackWhatNobodyHolds) {
  const auto memory = WeightMemory::Create(200 * kMiB);
  ASSERT_TRUE(memory.ok());
  std::vector<char*> taken;
  for (int i = 0; i < 100; ++i) {
    taken.push_back((*memory)->Take(kMiB));
    std::memset(taken.back(), 1, kMiB);
  }
  EXPECT_EQ(TakenBytes(**memory), 100 * kMiB);
  for (int round = 0; round < 3; ++round) {
    for (char* const data : taken) (*memory)->TakeBack(data, kMiB);
    EXPECT_EQ(TakenBytes(**memory), 64 * kMiB);
    for (char*& data : taken) {
      data = (*memory)->Take(kMiB);
      std::memset(data, 1, kMiB);
    }
    EXPECT_EQ(TakenBytes(**memory), 100 * kMiB);
  }
}

bool LiesIn(const float* floats, const WeightMemory& memory) {
  const auto at = reinterpret_cast<uintptr_t>(floats);
  const auto begin = reinterpret_cast<uintptr_t>(memory.memory()->data());
  return at >= begin && at < begin + memory.memory()->bytes();
}

// However a block gets its state, and until there is no room.
TEST(WeightMemoryTest, TheStatesOfABlockLieThere) {
  const std::shared_ptr<WeightMemory> memory = *WeightMemory::Create(3 * 128);
  Block block(/*size=*/10, /*slots=*/1, memory);
  const std::vector<float> values(10, 3);
  const Payload payload = Payload::OfFloats(values.data(), values.size());
  ASSERT_TRUE(block.Set(payload, DType::kF32).ok());
  EXPECT_TRUE(LiesIn(block.Read()->weights(), *memory));
  auto saved = std::make_shared<BlockState>(10, 1);
  std::fill_n(saved->weights(), 10, 5.0f);
  std::fill_n(saved->slot(0), 10, 6.0f);
  saved->set_steps(7);
  ASSERT_TRUE(block.Restore(saved).ok());
  const auto restored = block.Read();
  EXPECT_TRUE(LiesIn(restored->weights(), *memory));
  EXPECT_EQ(restored->weights()[9], 5);
  EXPECT_EQ(restored->slot(0)[9], 6);
  EXPECT_EQ(restored->steps(), 7u);
  block.Put(saved);
  EXPECT_TRUE(LiesIn(block.Read()->weights(), *memory));
  const auto add = [](const BlockState& current, BlockState& next) {
    for (int i = 0; i < 10; ++i) {
      next.weights()[i] = current.weights()[i] + 1;
      next.slot(0)[i] = current.slot(0)[i];
    }
  };
  // Each is held, so that the next one needs a place of its own.
  std::vector<std::shared_ptr<const BlockState>> held = {restored};
  int there = 0;
  for (int i = 0; i < 5; ++i) {
    held.push_back(block.Read());
    block.Update(add);
    if (LiesIn(block.Read()->weights(), *memory)) ++there;
    EXPECT_EQ(block.Read()->weights()[0], 6 + i);
  }
  EXPECT_EQ(there, 1) << "room for three, of which two were taken";
}

}  // namespace
}  // namespace paceline
