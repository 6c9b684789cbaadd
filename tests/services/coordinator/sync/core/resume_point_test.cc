// A job that is interrupted at any moment and taken up again, and one whose
// options change on the way.

#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "services/coordinator/sync/core/sample_dealer.h"
#include "tests/common/seed_count.h"
#include "tests/services/coordinator/sync/core/simulated_job.h"

namespace paceline {
namespace {

class ResumePointTest : public testing::TestWithParam<const char*> {};

// What the first run's weights hold at the point, and what the second counts,
// are every sample of every epoch, once. The checkers know every push: that of
// the first compares the point with it and with the servers' snapshots, that of
// the second begins with what the point says is done.
TEST_P(ResumePointTest, TwoRunsCountEverySampleOnceForEverySeed) {
  int64_t exact = 0;
  int64_t open = 0;
  int64_t at_the_end = 0;
  int64_t losses = 0;
  const uint64_t seeds = SeedCount(400);
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    SimulatedJob first(
        {.seed = seed,
         .policy = GetParam(),
         .resume_point_at = static_cast<int64_t>(seed % 11) * 100});
    first.Run();
    ASSERT_EQ(first.violation(), "") << GetParam() << ", seed " << seed;
    const ResumePoint& point = *first.resume_point();
    SimulatedJob second({.seed = 1'000'000 + seed,
                         .policy = GetParam(),
                         .go_on = first.rest()});
    second.Run();
    ASSERT_EQ(second.violation(), "") << GetParam() << ", seed " << seed;
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
  for (uint64_t seed = 0; seed < SeedCount(60); ++seed) {
    std::optional<SyncOptions> rest;
    for (int64_t run = 1; run <= 5; ++run) {
      SimulatedJob job({.seed = 100 * seed + static_cast<uint64_t>(run),
                        .policy = GetParam(),
                        .resume_point_at = run * 180,
                        .go_on = rest});
      job.Run();
      ASSERT_EQ(job.violation(), "") << GetParam() << ", seed " << seed;
      rest = job.rest();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Paradigms, ResumePointTest,
    testing::Values("bsp", "asp", "ssp:s=2",
                    "dssp:lower=1,upper=4,mode=bounded", "saps",
                    "saps:mode=drop,starve_limit=3", "ksync:k=2",
                    "kbatchsync:k=3", "backup:b=1", "kasync:k=2",
                    "kbatchasync:k=3", "psp:beta=1,s=2,seed=7", "elastic:r=5",
                    "abs:pieces=4", "cgp:warmup_rounds=1,regroup_every=4",
                    "syncswitch:first=bsp,then=asp,at=0.3"),
    [](const auto& instance) {
      const std::string spec = instance.param;
      std::string name;
      for (const char c : spec) name += c >= 'a' && c <= 'z' ? c : '_';
      return name;
    });

class ChangeTest : public testing::TestWithParam<const char*> {};

// More samples or fewer, even or balanced batches, while it runs and workers
// come and go: what it has then is counted once, and the job ends.
TEST_P(ChangeTest, OptionsChangeWhileItRunsForEverySeed) {
  for (uint64_t seed = 0; seed < SeedCount(400); ++seed) {
    SimulatedJob job(
        {.seed = seed, .policy = GetParam(), .change_options = true});
    job.Run();
    ASSERT_EQ(job.violation(), "") << GetParam() << ", seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Paradigms, ChangeTest,
                         testing::Values("bsp", "asp", "ssp:s=2", "ksync:k=2",
                                         "cgp:warmup_rounds=1,regroup_every=4",
                                         "saps"),
                         [](const auto& instance) {
                           const std::string spec = instance.param;
                           return spec.substr(0, spec.find(':'));
                         });

}  // namespace
}  // namespace paceline
