#include "services/worker/data/batch_loader.h"

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "common/permutation.h"
#include "common/rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

constexpr uint64_t kSeed = 9;
constexpr uint32_t kSize = 200;

// Image i is one pixel, whose float is i, and its label i % 10.
Dataset Numbers() {
  RawImages raw;
  raw.shape = {1, 1, 1};
  raw.classes = 10;
  raw.normalization = {{0, 1.0f / 255}};
  for (uint32_t i = 0; i < kSize; ++i) {
    raw.pixels.push_back(static_cast<uint8_t>(i));
    raw.labels.push_back(static_cast<uint8_t>(i % 10));
  }
  return *Dataset::Create("numbers", std::move(raw));
}

// What the range must give.
std::vector<float> Want(const SampleRange& range) {
  const auto order = EpochPermutation(kSeed, range.epoch, kSize, range.parts);
  return {order.begin() + range.begin, order.begin() + range.end};
}

// Takes everything that is left.
std::vector<float> Drain(BatchLoader& loader, std::vector<int>* sizes) {
  std::vector<float> all;
  while (const auto batch = loader.Next()) {
    for (int i = 0; i < batch->n; ++i) {
      const float value = batch->images[i];
      all.push_back(value);
      EXPECT_EQ(batch->labels[i], static_cast<int>(value + 0.5f) % 10);
    }
    EXPECT_GE(batch->waited, absl::ZeroDuration());
    if (sizes != nullptr) sizes->push_back(batch->n);
  }
  return all;
}

class BatchLoaderTest : public testing::Test {
 protected:
  void ExpectAll(const SampleRange& range, int micro_batch,
                 std::vector<int>* sizes = nullptr) {
    ASSERT_TRUE(loader_.Start(range, micro_batch).ok());
    EXPECT_THAT(Drain(loader_, sizes),
                testing::Pointwise(testing::FloatNear(0.01f), Want(range)));
    EXPECT_FALSE(loader_.Next().has_value());
  }

  const Dataset dataset_ = Numbers();
  BatchLoader loader_{&dataset_, kSeed};
};

TEST_F(BatchLoaderTest, GivesARangeInOrderInPieces) {
  std::vector<int> sizes;
  ExpectAll({.epoch = 2, .begin = 10, .end = 45}, 16, &sizes);
  EXPECT_THAT(sizes, testing::ElementsAre(16, 16, 3));
}

TEST_F(BatchLoaderTest, GivesNothingBeforeAStartAndForAnEmptyRange) {
  EXPECT_FALSE(loader_.Next().has_value());
  ExpectAll({.epoch = 0, .begin = 7, .end = 7}, 4);
}

TEST_F(BatchLoaderTest, ChangesSizesAndEpochs) {
  for (const uint32_t epoch : {0u, 1u, 0u, 1u, 2u, 1u, 2u, 7u, 0u}) {
    ExpectAll({epoch, 0, kSize}, static_cast<int>(epoch) * 30 + 1);
  }
}

TEST_F(BatchLoaderTest, AnEpochMayHaveParts) {
  for (const uint32_t parts : {3u, 0u, 2u, 3u}) {
    ExpectAll({.epoch = 1, .begin = 20, .end = 60, .parts = parts}, 16);
  }
}

TEST_F(BatchLoaderTest, RefusesWhatTheDataSetDoesNotHave) {
  EXPECT_TRUE(absl::IsInvalidArgument(loader_.Start({0, 0, kSize + 1}, 4)));
  EXPECT_TRUE(absl::IsInvalidArgument(loader_.Start({0, 5, 4}, 4)));
  EXPECT_TRUE(absl::IsInvalidArgument(loader_.Start({0, 0, 4, kSize + 1}, 4)));
  ExpectAll({0, 0, kSize}, 64);
}

TEST_F(BatchLoaderTest, KeepsTwoPiecesWhileItLoadsTheNext) {
  ASSERT_TRUE(loader_.Start({0, 0, 40}, 10).ok());
  const auto want = Want({0, 0, 40});
  std::optional<MicroBatch> before;
  for (int piece = 0; piece < 4; ++piece) {
    const auto batch = loader_.Next();
    ASSERT_TRUE(batch.has_value());
    // Give the thread every opportunity to write where it must not.
    for (int i = 0; i < 200; ++i) {
      std::this_thread::yield();
      ASSERT_NEAR(batch->images[i % 10], want[piece * 10 + i % 10], 0.01f);
      if (!before.has_value()) continue;
      ASSERT_NEAR(before->images[i % 10], want[piece * 10 - 10 + i % 10],
                  0.01f);
    }
    before = batch;
  }
}

TEST_F(BatchLoaderTest, GathersWhereItIsTold) {
  std::vector<float> memory(3 * 10);
  BatchLoader::ImageMemory slots;
  for (size_t i = 0; i < slots.size(); ++i) {
    slots[i] = absl::MakeSpan(memory).subspan(i * 10, 10);
  }
  BatchLoader loader(&dataset_, kSeed, slots);
  ASSERT_TRUE(loader.Start({0, 0, 40}, 10).ok());
  const auto want = Want({0, 0, 40});
  for (int piece = 0; piece < 4; ++piece) {
    const auto batch = loader.Next();
    ASSERT_TRUE(batch.has_value());
    EXPECT_EQ(batch->images, slots[piece % 3].data());
    EXPECT_NEAR(batch->images[9], want[piece * 10 + 9], 0.01f);
  }
}

TEST_F(BatchLoaderTest, AStartDropsWhatWasBeingLoaded) {
  Rng rng(1);
  for (int round = 0; round < 500; ++round) {
    const uint32_t begin = static_cast<uint32_t>(rng.Below(kSize));
    const SampleRange range{
        static_cast<uint32_t>(rng.Below(4)), begin,
        begin + static_cast<uint32_t>(rng.Below(kSize - begin + 1))};
    const int micro_batch = 1 + static_cast<int>(rng.Below(40));
    ASSERT_TRUE(loader_.Start(range, micro_batch).ok());
    const auto want = Want(range);
    size_t at = 0;
    // Some rounds take a few pieces, some none, some all.
    for (uint64_t take = rng.Below(6); take > 0; --take) {
      const auto batch = loader_.Next();
      if (!batch.has_value()) {
        ASSERT_EQ(at, want.size());
        break;
      }
      for (int i = 0; i < batch->n; ++i) {
        ASSERT_NEAR(batch->images[i], want[at++], 0.01f) << round;
      }
    }
    if (rng.Chance(1, 4)) loader_.Stop();
  }
  ExpectAll({3, 0, kSize}, 7);
}

TEST_F(BatchLoaderTest, StopFromAnotherThreadEndsTheRange) {
  std::atomic<bool> done = false;
  std::thread stopper([&] {
    while (!done) {
      loader_.Stop();
      std::this_thread::yield();
    }
  });
  const auto want = Want({1, 0, kSize});
  for (int round = 0; round < 300; ++round) {
    ASSERT_TRUE(loader_.Start({1, 0, kSize}, 3).ok());
    const auto got = Drain(loader_, nullptr);
    ASSERT_LE(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 0.01f);
  }
  done = true;
  stopper.join();
  ExpectAll({1, 0, kSize}, 3);
}

TEST_F(BatchLoaderTest, EndsInTheMiddleOfARange) {
  for (int i = 0; i < 100; ++i) {
    BatchLoader loader(&dataset_, kSeed);
    ASSERT_TRUE(loader.Start({0, 0, kSize}, 5).ok());
    if (i % 2 == 0) {
      EXPECT_TRUE(loader.Next().has_value());
    }
  }
}

constexpr MoveRange kMoves{.first = -4, .last = 4};

// Images of 4x4 pixels, no two alike, that are to be moved.
Dataset Augmented(int crop) {
  RawImages raw;
  raw.shape = {2, 4, 4};
  raw.classes = 10;
  raw.normalization = {{0.5f, 0.25f}, {0.25f, 0.5f}};
  raw.moves = kMoves;
  raw.crop = crop;
  Rng rng(4);
  for (uint32_t i = 0; i < kSize; ++i) {
    raw.labels.push_back(static_cast<uint8_t>(i % 10));
  }
  for (int64_t i = 0; i < kSize * raw.shape.size(); ++i) {
    raw.pixels.push_back(static_cast<uint8_t>(rng.Below(256)));
  }
  return *Dataset::Create("augmented", std::move(raw));
}

// How images are cropped.
class AugmentedLoaderTest : public testing::TestWithParam<int> {
 protected:
  std::vector<float> Load(const SampleRange& range, int micro_batch) {
    // Another loader each time, as another worker has one.
    BatchLoader loader(&dataset_, kSeed);
    EXPECT_TRUE(loader.Start(range, micro_batch).ok());
    std::vector<float> all;
    while (const auto batch = loader.Next()) {
      all.insert(all.end(), batch->images,
                 batch->images + batch->n * dataset_.shape().size());
    }
    return all;
  }

  const Dataset dataset_ = Augmented(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Crops, AugmentedLoaderTest, testing::Values(0, 2, 3));

TEST_P(AugmentedLoaderTest, MovesEachSampleByItsNumberAndEpoch) {
  const auto order = EpochPermutation(kSeed, 3, kSize);
  std::vector<ImageMove> moves;
  for (const uint32_t sample : order) {
    moves.push_back(DrawMove(kMoves, kSeed, 3, sample));
  }
  std::vector<float> want(kSize * dataset_.shape().size());
  std::vector<uint8_t> labels(kSize);
  dataset_.Gather(order, moves, want.data(), labels.data());
  EXPECT_EQ(Load({3, 0, kSize}, 64), want);
  std::vector<float> unmoved(want.size());
  dataset_.Gather(order, unmoved.data(), labels.data());
  EXPECT_NE(want, unmoved);
}

TEST_P(AugmentedLoaderTest, WhoLoadsASampleAndWithWhichOthersDoesNotMatter) {
  const std::vector<float> whole = Load({1, 0, kSize}, 64);
  std::vector<float> parts = Load({1, 0, 50}, 7);
  for (const float value : Load({1, 50, kSize}, 150)) parts.push_back(value);
  EXPECT_EQ(parts, whole);
  EXPECT_EQ(Load({1, 0, kSize}, 64), whole);
}

}  // namespace
}  // namespace paceline
