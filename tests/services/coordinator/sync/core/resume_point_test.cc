// A job that is interrupted at any moment and taken up again, and one whose
// options change on the way.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "services/coordinator/sync/core/sample_dealer.h"
#include "tests/common/seed_count.h"
#include "tests/services/coordinator/sync/core/simulated_job.h"
#include "tests/services/coordinator/sync/core/simulated_paradigms.h"

namespace paceline {
namespace {

using Paradigm = std::pair<std::string, std::optional<int64_t>>;

std::string NameOf(const testing::TestParamInfo<Paradigm>& paradigm) {
  return ParadigmName(paradigm.param.first);
}

class ResumePointTest : public testing::TestWithParam<Paradigm> {};

// What the first run's weights hold at the point, and what the second counts,
// are every sample of every epoch, once. The checkers know every push: that of
// the first compares the point with it and with the servers' snapshots, that of
// the second begins with what the point says is done.
TEST_P(ResumePointTest, TwoRunsCountEverySampleOnceForEverySeed) {
  int64_t exact = 0;
  int64_t open = 0;
  int64_t at_the_end = 0;
  int64_t losses = 0;
  const uint64_t seeds = SeedCount(250);
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    SimulatedJob first(
        {.seed = seed,
         .policy = GetParam().first,
         .resume_point_at = static_cast<int64_t>(seed % 11) * 100});
    first.Run();
    ASSERT_EQ(first.violation(), "") << GetParam().first << ", seed " << seed;
    const ResumePoint& point = *first.resume_point();
    SimulatedJob second({.seed = 1'000'000 + seed,
                         .policy = GetParam().first,
                         .go_on = first.rest()});
    second.Run();
    ASSERT_EQ(second.violation(), "") << GetParam().first << ", seed " << seed;
    exact += point.exact ? 1 : 0;
    open += point.position.open.empty() ? 0 : 1;
    at_the_end += point.samples == first.rest().train_samples *
                                       int64_t{first.rest().epochs}
                      ? 1
                      : 0;
    losses += first.seen().losses.empty() ? 0 : 1;
  }
  // Or the seeds would prove little.
  const auto some = static_cast<int64_t>(seeds / 20);
  EXPECT_GT(exact, some / 4);
  EXPECT_GT(open, some);
  EXPECT_GT(at_the_end, 0);
  EXPECT_GT(losses, some);
}

// Interrupted again and again.
TEST_P(ResumePointTest, ManyRunsCountEverySampleOnce) {
  for (uint64_t seed = 0; seed < SeedCount(40); ++seed) {
    std::optional<SyncOptions> rest;
    for (int64_t run = 1; run <= 5; ++run) {
      SimulatedJob job({.seed = 100 * seed + static_cast<uint64_t>(run),
                        .policy = GetParam().first,
                        .resume_point_at = run * 180,
                        .go_on = rest});
      job.Run();
      ASSERT_EQ(job.violation(), "") << GetParam().first << ", seed " << seed;
      rest = job.rest();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Paradigms, ResumePointTest,
                         testing::ValuesIn(SimulatedParadigms()), NameOf);

class ChangeTest : public testing::TestWithParam<Paradigm> {};

// More samples or fewer, even or balanced batches, while it runs and workers
// come and go: what it has then is counted once, and the job ends.
TEST_P(ChangeTest, OptionsChangeWhileItRunsForEverySeed) {
  for (uint64_t seed = 0; seed < SeedCount(100); ++seed) {
    SimulatedJob job(
        {.seed = seed, .policy = GetParam().first, .change_options = true});
    job.Run();
    ASSERT_EQ(job.violation(), "") << GetParam().first << ", seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Paradigms, ChangeTest,
                         testing::ValuesIn(SimulatedParadigms()), NameOf);

}  // namespace
}  // namespace paceline
