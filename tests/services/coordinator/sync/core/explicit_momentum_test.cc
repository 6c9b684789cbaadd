#include "services/coordinator/sync/core/explicit_momentum.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

struct MomentumCase {
  double total;
  double staleness;
  double momentum;
};

TEST(ExplicitMomentumTest, IsWhatStalenessLeavesOfTheTotal) {
  for (const MomentumCase& c : {
           MomentumCase{0.9, 1, 0.8},     // Two workers.
           MomentumCase{0.9, 3, 0.6},     // Four: an implicit momentum of 0.75.
           MomentumCase{0.9, 7, 0.2},     // Eight.
           MomentumCase{0.9, 8.5, 0.05},  // Between two sizes.
           MomentumCase{0.9, 9, 0},       // Staleness alone has it all.
           MomentumCase{0.9, 1000, 0},    // And more.
           MomentumCase{0.95, 7, 0.6},    //
           MomentumCase{0.99, 31, 0.68},  //
           MomentumCase{0.5, 0.5, 0.25},  //
           MomentumCase{0, 3, 0},         //
       }) {
    EXPECT_NEAR(ExplicitMomentum(c.total, c.staleness), c.momentum, 1e-12)
        << c.total << " at " << c.staleness;
  }
}

// The memories multiply to that of the total.
TEST(ExplicitMomentumTest, MakesUpTheTotalWithTheImplicitOne) {
  for (const double total : {0.5, 0.9, 0.99}) {
    for (const double staleness : {0.0, 0.1, 0.7, 0.9}) {
      const double implicit = 1 - 1 / (1 + staleness);
      EXPECT_NEAR((1 - ExplicitMomentum(total, staleness)) * (1 - implicit),
                  1 - total, 1e-12)
          << total << " at " << staleness;
    }
  }
}

TEST(ExplicitMomentumTest, IsTheTotalToTheBitWhereNothingIsStale) {
  for (const double total : {0.0, 0.1, 0.3, 0.7, 0.9, 0.95, 0.999}) {
    EXPECT_EQ(ExplicitMomentum(total, 0), total);
  }
}

TEST(MeanStalenessTest, IsThePlainMeanAtFirst) {
  MeanStaleness mean;
  EXPECT_EQ(mean.value(), 0);
  mean.Add(2);
  EXPECT_DOUBLE_EQ(mean.value(), 2);
  mean.Add(4);
  EXPECT_DOUBLE_EQ(mean.value(), 3);
  mean.Add(9);
  EXPECT_DOUBLE_EQ(mean.value(), 5);
}

TEST(MeanStalenessTest, ForgetsWhatIsLongAgo) {
  MeanStaleness mean;
  for (int i = 0; i < 1000; ++i) mean.Add(50);
  for (int i = 0; i < 100; ++i) mean.Add(0);
  EXPECT_NEAR(mean.value(), 50 * 0.366, 0.1);  // 0.99^100
  for (int i = 0; i < 900; ++i) mean.Add(0);
  EXPECT_LT(mean.value(), 0.01);
}

}  // namespace
}  // namespace paceline
