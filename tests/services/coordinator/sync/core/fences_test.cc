#include "services/coordinator/sync/core/fences.h"

#include <optional>

#include "gtest/gtest.h"

namespace paceline {
namespace {

constexpr WorkerId kWorker{3};

OpenGrant GrantOf(Iteration iteration) {
  OpenGrant grant;
  grant.iteration = iteration;
  grant.ranges = {{0, 0, 32}};
  return grant;
}

FenceAnswer Of(int server, Iteration iteration, uint32_t taken, uint32_t blocks,
               uint32_t samples = 0) {
  return {server, iteration, taken, blocks, samples};
}

TEST(FencesTest, IsWholeWhenEveryBlockOfTheOpenIterationWasTaken) {
  Fences fences(2);
  fences.Open(kWorker, GrantOf(5), /*last_closing=*/9);
  EXPECT_EQ(fences.Answer(kWorker, Of(0, 5, 4, 4, 20)), std::nullopt);
  const std::optional<FenceOutcome> loss =
      fences.Answer(kWorker, Of(1, 5, 3, 3, 20));
  ASSERT_TRUE(loss.has_value());
  EXPECT_TRUE(loss->whole());
  EXPECT_EQ(loss->fenced_at, 9);
  EXPECT_EQ(loss->blocks, 7);
  EXPECT_EQ(loss->samples, 20u);
  EXPECT_TRUE(fences.empty());
}

TEST(FencesTest, BlocksOfAnEarlierIterationWereCountedAlready) {
  Fences fences(2);
  fences.Open(kWorker, GrantOf(5), 0);
  EXPECT_EQ(fences.Answer(kWorker, Of(0, 4, 4, 4)), std::nullopt);
  const std::optional<FenceOutcome> loss =
      fences.Answer(kWorker, Of(1, 5, 3, 3));
  ASSERT_TRUE(loss.has_value());
  EXPECT_FALSE(loss->whole());
  EXPECT_EQ(loss->taken, 3);
  EXPECT_EQ(loss->blocks, 7);
}

TEST(FencesTest, AServerWithoutBlocksLacksNone) {
  Fences fences(2);
  fences.Open(kWorker, GrantOf(1), 0);
  EXPECT_EQ(fences.Answer(kWorker, Of(1, 0, 0, 0)), std::nullopt);
  EXPECT_TRUE(fences.Answer(kWorker, Of(0, 1, 2, 2))->whole());
}

TEST(FencesTest, NobodyWhoNeverPushedIsWhole) {
  Fences fences(1);
  fences.Open(kWorker, GrantOf(1), 0);
  EXPECT_FALSE(fences.Answer(kWorker, Of(0, 0, 0, 0))->whole());
}

TEST(FencesTest, RepeatedAndUnknownAnswersChangeNothing) {
  Fences fences(2);
  EXPECT_EQ(fences.Answer(kWorker, Of(0, 1, 1, 1)), std::nullopt);
  fences.Open(kWorker, std::nullopt, 0);
  EXPECT_EQ(fences.Answer(kWorker, Of(0, 1, 1, 1)), std::nullopt);
  EXPECT_EQ(fences.Answer(kWorker, Of(0, 1, 1, 1)), std::nullopt);
  EXPECT_EQ(fences.Answer(kWorker, Of(2, 1, 1, 1)), std::nullopt);
  EXPECT_EQ(fences.Answer(kWorker, Of(-1, 1, 1, 1)), std::nullopt);
  EXPECT_TRUE(fences.Contains(kWorker));
  EXPECT_TRUE(fences.Answer(kWorker, Of(1, 1, 1, 1)).has_value());
  EXPECT_EQ(fences.Answer(kWorker, Of(1, 1, 1, 1)), std::nullopt);
}

}  // namespace
}  // namespace paceline
