// A job that is interrupted at any moment and taken up again.

#include <algorithm>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "tests/common/seed_count.h"
#include "tests/services/coordinator/sync/core/simulated_paradigms.h"
#include "tests/services/coordinator/sync/core/simulated_run.h"

namespace paceline {
namespace {

using Paradigm = std::pair<std::string, std::optional<int64_t>>;

class ResumePointTest : public testing::TestWithParam<Paradigm> {};

// What the first run's weights hold at a point, and what the next one counts,
// are every sample of every epoch, once. The checkers know every push: that of
// one run compares each of its points with it and with the servers' snapshots,
// that of the next begins with what the point says is done.
TEST_P(ResumePointTest, ManyRunsCountEverySampleOnceForEverySeed) {
  const std::string& paradigm = GetParam().first;
  int64_t exact = 0;
  int64_t open = 0;
  int64_t at_the_end = 0;
  SimulatedRuns runs;
  const Seeds seeds(SeedCount(125));
  for (uint64_t seed = seeds.first; seed < seeds.end(); ++seed) {
    ClusterSpec spec = FaultySpec(seed, paradigm);
    spec.settings.checkpoint_interval = absl::Seconds(1 + seed % 5);
    for (uint64_t run = 0; run < 4; ++run) {
      spec.seed = 4 * seed + run;
      runs.Run(spec);
      ASSERT_EQ(runs.verdict, "")
          << paradigm << ", seed " << seed << ", run " << run;
      if (runs.points.empty()) break;  // Too few came in time.
      // Another one each time, and now and then the last.
      const size_t chosen =
          std::min(run + seed % 7, uint64_t{runs.points.size()} - 1);
      const ResumePoint& point = runs.points[chosen];
      spec.start.version = point.version;
      spec.start.position = point.position;
      exact += point.exact ? 1 : 0;
      open += point.position.open.empty() ? 0 : 1;
      const int64_t all = spec.train_samples * spec.settings.stop.epochs;
      at_the_end += point.samples == all ? 1 : 0;
    }
  }
  if (seeds.count < 25) return;
  // Or the seeds would prove little.
  EXPECT_GT(exact, 3);
  EXPECT_GT(open, 20);
  EXPECT_GT(at_the_end, 0);
  EXPECT_FALSE(runs.losses.empty());
}

INSTANTIATE_TEST_SUITE_P(Paradigms, ResumePointTest,
                         testing::ValuesIn(SimulatedParadigms()),
                         [](const testing::TestParamInfo<Paradigm>& paradigm) {
                           return ParadigmName(paradigm.param.first);
                         });

}  // namespace
}  // namespace paceline
