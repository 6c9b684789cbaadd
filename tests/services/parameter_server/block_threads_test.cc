#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "services/parameter_server/block.h"

namespace paceline {
namespace {

constexpr size_t kSize = 1000;
constexpr int kUpdates = 3000;

void AddOne(const BlockState& current, BlockState& next) {
  for (size_t i = 0; i < current.size(); ++i) {
    next.weights()[i] = current.weights()[i] + 1;
    next.slot(0)[i] = current.slot(0)[i] - 1;
  }
}

// Weights, slot and steps of one state must belong together.
void ExpectWhole(const BlockState& state) {
  const float steps = static_cast<float>(state.steps());
  for (size_t i = 0; i < state.size(); i += 37) {
    ASSERT_EQ(state.weights()[i], steps);
    ASSERT_EQ(state.slot(0)[i], -steps);
  }
}

// Readers that hold a state for as long as they like see it whole and still,
// writers lose nothing, and updates happen in place whenever they may.
TEST(BlockThreadsTest, ReadersSeeWholeStatesWhileWritersWrite) {
  Block block(kSize, 1);
  const std::vector<float> zeros(kSize);
  ASSERT_TRUE(
      block.Set(Payload::OfFloats(zeros.data(), kSize), DType::kF32).ok());
  std::atomic<bool> done = false;
  std::vector<std::thread> readers;
  for (int r = 0; r < 3; ++r) {
    readers.emplace_back([&] {
      std::shared_ptr<const BlockState> held = block.Read();
      while (!done.load()) {
        const uint64_t steps = held->steps();
        ExpectWhole(*held);
        EXPECT_EQ(held->steps(), steps);
        const auto next = block.Read();
        EXPECT_GE(next->steps(), steps);
        held = next;
      }
    });
  }
  std::vector<std::thread> writers;
  for (int w = 0; w < 2; ++w) {
    writers.emplace_back([&] {
      for (int i = 0; i < kUpdates; ++i) block.Update(AddOne);
    });
  }
  for (std::thread& writer : writers) writer.join();
  done.store(true);
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(block.Read()->steps(), uint64_t{2 * kUpdates});
  ExpectWhole(*block.Read());
}

// A reader that lets go lets the next update happen in place. What it has read
// must lie before that write, although the two share no lock in between.
TEST(BlockThreadsTest, LettingGoOrdersTheReadBeforeTheNextWrite) {
  Block block(kSize, 1);
  const std::vector<float> zeros(kSize);
  ASSERT_TRUE(
      block.Set(Payload::OfFloats(zeros.data(), kSize), DType::kF32).ok());
  for (int round = 0; round < 300; ++round) {
    std::shared_ptr<const BlockState> held = block.Read();
    std::atomic<bool> reading = false;
    std::thread reader([&reading, held = std::move(held)]() mutable {
      reading.store(true);
      ExpectWhole(*held);
      held.reset();
    });
    while (!reading.load()) std::this_thread::yield();
    for (int i = 0; i < 10; ++i) block.Update(AddOne);
    reader.join();
  }
  ExpectWhole(*block.Read());
}

}  // namespace
}  // namespace paceline
