#include <cstddef>
#include <cstdint>

#include "gtest/gtest.h"
#include "tests/common/seed_count.h"
#include "tests/services/coordinator/leadership/two_coordinators.h"

namespace paceline {
namespace {

TEST(ElectionSimulationTest, WhoeverLeadsKnowsWhatWasPromised) {
  const Seeds seeds(SeedCount(10'000));
  uint64_t leaders = 0;
  uint64_t promised = 0;
  for (uint64_t seed = seeds.first; seed < seeds.end(); ++seed) {
    TwoCoordinators cluster(seed);
    ASSERT_TRUE(cluster.Run(5'000))
        << "seed " << seed << ": " << cluster.trouble();
    ASSERT_TRUE(cluster.Heal()) << "seed " << seed << ": " << cluster.trouble();
    leaders += cluster.leaders();
    promised += cluster.promised();
  }
  // Or the seeds would prove little.
  EXPECT_GT(leaders, 3 * seeds.count);
  EXPECT_GT(promised, 20 * seeds.count);
}

}  // namespace
}  // namespace paceline
