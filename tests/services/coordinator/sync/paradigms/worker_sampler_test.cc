#include "services/coordinator/sync/paradigms/worker_sampler.h"

#include <map>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

WorkerSampler SamplerOf(uint32_t workers, uint64_t seed) {
  WorkerSampler sampler(seed);
  for (uint32_t i = 0; i < workers; ++i) sampler.Add(WorkerId{i});
  return sampler;
}

TEST(WorkerSamplerTest, DrawsOthersOnceEach) {
  WorkerSampler sampler = SamplerOf(6, 1);
  for (int draw = 0; draw < 1'000; ++draw) {
    const WorkerId self{static_cast<uint32_t>(draw % 6)};
    const std::vector<WorkerId> drawn = sampler.DrawOthers(self, 3);
    const std::set<WorkerId> distinct(drawn.begin(), drawn.end());
    ASSERT_EQ(drawn.size(), 3u);
    ASSERT_EQ(distinct.size(), 3u);
    ASSERT_FALSE(distinct.contains(self));
  }
}

TEST(WorkerSamplerTest, DrawsAllIfThereAreNoMore) {
  WorkerSampler sampler = SamplerOf(3, 1);
  EXPECT_THAT(sampler.DrawOthers(WorkerId{1}, 9),
              UnorderedElementsAre(WorkerId{0}, WorkerId{2}));
  EXPECT_THAT(sampler.DrawOthers(WorkerId{1}, 0), IsEmpty());
  sampler.Remove(WorkerId{0});
  sampler.Remove(WorkerId{0});
  EXPECT_THAT(sampler.DrawOthers(WorkerId{1}, 9),
              UnorderedElementsAre(WorkerId{2}));
  // One that was taken out itself may draw too.
  sampler.Remove(WorkerId{1});
  EXPECT_THAT(sampler.DrawOthers(WorkerId{1}, 9),
              UnorderedElementsAre(WorkerId{2}));
}

TEST(WorkerSamplerTest, DrawsEverybodyEquallyOften) {
  WorkerSampler sampler = SamplerOf(5, 3);
  std::map<WorkerId, int> times;
  for (int draw = 0; draw < 10'000; ++draw) {
    for (const WorkerId drawn : sampler.DrawOthers(WorkerId{4}, 2)) {
      ++times[drawn];
    }
  }
  // 5,000 expected, standard deviation 50.
  for (uint32_t i = 0; i < 4; ++i) EXPECT_NEAR(times[WorkerId{i}], 5'000, 250);
}

TEST(WorkerSamplerTest, OneSeedGivesOneSequence) {
  WorkerSampler one = SamplerOf(20, 7);
  WorkerSampler same = SamplerOf(20, 7);
  WorkerSampler other = SamplerOf(20, 8);
  const std::vector<WorkerId> drawn = one.DrawOthers(WorkerId{0}, 10);
  EXPECT_EQ(drawn, same.DrawOthers(WorkerId{0}, 10));
  EXPECT_NE(drawn, other.DrawOthers(WorkerId{0}, 10));
}

}  // namespace
}  // namespace paceline
