#include "services/coordinator/sync/core/ada_scale.h"

#include <gtest/gtest.h>

#include <limits>

namespace paceline {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

struct Case {
  double batches;
  double noise;
  double gain;
};

TEST(AdaScaleTest, IsTheGainRatioOfThePaper) {
  for (const Case& c : {
           Case{1, 0, 1},              // An update of one batch is one.
           Case{1, 7, 1},              //
           Case{1, kInfinite, 1},      //
           Case{8, 0, 1},              // They all say the same.
           Case{8, kInfinite, 8},      // Each says something else.
           Case{8, 8, 4.5},            // (8 + 1) / (8 / 8 + 1).
           Case{4, 2, 2},              // (2 + 1) / (2 / 4 + 1).
           Case{0.5, 0, 1},            // A part of a batch.
           Case{0.5, kInfinite, 0.5},  //
           Case{0.5, 1, 2.0 / 3},      //
       }) {
    EXPECT_DOUBLE_EQ(AdaScaleGain(c.batches, c.noise), c.gain)
        << c.batches << " batches, noise " << c.noise;
  }
}

TEST(AdaScaleTest, GrowsWithBatchesAndWithNoise) {
  for (const double noise : {0.01, 0.5, 3.0, 100.0}) {
    for (const double batches : {1.5, 2.0, 16.0, 1000.0}) {
      const double gain = AdaScaleGain(batches, noise);
      EXPECT_GT(gain, 1);
      EXPECT_LT(gain, batches);
      EXPECT_LT(gain, noise + 1);
      EXPECT_GT(AdaScaleGain(2 * batches, noise), gain);
      EXPECT_GT(AdaScaleGain(batches, 2 * noise), gain);
    }
  }
}

}  // namespace
}  // namespace paceline
