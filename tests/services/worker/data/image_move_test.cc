#include "services/worker/data/image_move.h"

#include <cstdint>
#include <map>
#include <vector>

#include "gtest/gtest.h"
#include "services/worker/data/normalize.h"

namespace paceline {
namespace {

// Higher than wide, so that a mixed-up side shows.
constexpr ImageShape kShape{1, 6, 5};
constexpr Normalization kNormalization{0.25f, 0.5f};

std::vector<uint8_t> Pixels() {
  std::vector<uint8_t> pixels;
  for (int i = 0; i < kShape.size(); ++i) {
    pixels.push_back(static_cast<uint8_t>(i * 7 + 1));
  }
  return pixels;
}

// As the comment of ImageMove says it, pixel by pixel.
std::vector<float> Wanted(const ImageMove& move, const ImageShape& frame) {
  const std::vector<uint8_t> pixels = Pixels();
  std::vector<float> wanted;
  for (int y = 0; y < frame.height; ++y) {
    for (int x = 0; x < frame.width; ++x) {
      const int from_x = (move.mirrored ? frame.width - 1 - x : x) + move.right;
      const int from_y = y + move.down;
      const bool outside = from_x < 0 || from_x >= kShape.width || from_y < 0 ||
                           from_y >= kShape.height;
      float& value = wanted.emplace_back(0.0f);
      if (outside) continue;
      Normalize(&pixels[from_y * kShape.width + from_x], 1, kNormalization,
                &value);
    }
  }
  return wanted;
}

class NormalizeMovedTest : public testing::TestWithParam<ImageShape> {};

TEST_P(NormalizeMovedTest, EveryMove) {
  const ImageShape& frame = GetParam();
  const std::vector<uint8_t> pixels = Pixels();
  // Further than the image is high: nothing of it is left.
  for (int down = -7; down <= 7; ++down) {
    for (int right = -7; right <= 7; ++right) {
      for (const bool mirrored : {false, true}) {
        const ImageMove move{down, right, mirrored};
        std::vector<float> moved(frame.size(), -99.0f);
        NormalizeMoved(pixels.data(), kShape, move, kNormalization, frame,
                       moved.data());
        EXPECT_EQ(moved, Wanted(move, frame))
            << down << " " << right << mirrored;
      }
    }
  }
}

// As large as the image, and a window of it.
INSTANTIATE_TEST_SUITE_P(Frames, NormalizeMovedTest,
                         testing::Values(kShape, ImageShape{1, 3, 4}));

constexpr MoveRange kPadded{.first = -4, .last = 4};

TEST(DrawMoveTest, IsOfSeedEpochAndSampleAlone) {
  EXPECT_EQ(DrawMove(kPadded, 1, 2, 3), DrawMove(kPadded, 1, 2, 3));
  int same_seed = 0, same_epoch = 0, same_sample = 0;
  for (uint32_t sample = 0; sample < 1000; ++sample) {
    const ImageMove move = DrawMove(kPadded, 1, 2, sample);
    same_seed += move == DrawMove(kPadded, 2, 2, sample) ? 1 : 0;
    same_epoch += move == DrawMove(kPadded, 1, 3, sample) ? 1 : 0;
    same_sample += move == DrawMove(kPadded, 1, 2, sample + 1) ? 1 : 0;
  }
  // One of 162 is like another by chance.
  for (const int same : {same_seed, same_epoch, same_sample}) {
    EXPECT_LT(same, 30);
  }
  // Load-bearing: a run that is repeated rests on it.
  EXPECT_EQ(DrawMove(kPadded, 1, 0, 0), (ImageMove{-4, -4, false}));
  EXPECT_EQ(DrawMove({0, 4}, 1, 0, 0), (ImageMove{3, 4, false}));
}

TEST(DrawMoveTest, EveryMoveIsAsLikely) {
  for (const MoveRange& range : {kPadded, MoveRange{0, 4}}) {
    const int shifts = range.last - range.first + 1;
    const int moves = shifts * shifts * 2;
    std::map<std::vector<int>, int> counts;
    for (int sample = 0; sample < 100 * moves; ++sample) {
      const ImageMove move =
          DrawMove(range, 7, 1, static_cast<uint32_t>(sample));
      for (const int shift : {move.down, move.right}) {
        EXPECT_GE(shift, range.first);
        EXPECT_LE(shift, range.last);
      }
      ++counts[{move.down, move.right, move.mirrored ? 1 : 0}];
    }
    EXPECT_EQ(counts.size(), static_cast<size_t>(moves));
    for (const auto& [move, count] : counts) {
      // Five standard deviations of 10.
      EXPECT_NEAR(count, 100, 50) << move[0] << " " << move[1];
    }
  }
}

}  // namespace
}  // namespace paceline
