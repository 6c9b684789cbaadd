#include "services/coordinator/run/course/noise_watch.h"

#include <gtest/gtest.h>

#include <optional>

namespace paceline {
namespace {

constexpr uint32_t kShare = 8;

// Rounds of two workers with gradients 1 and 3, in one dimension: of each the
// square is 3 of the gradient, and 16 the variance (gradient_noise_test.cc).
class NoiseWatchTest : public ::testing::Test {
 protected:
  struct Round {
    PushPlan plan = {};
    PushReport first = {.samples = kShare, .gradient_square = 1};
    PushReport second = {.samples = kShare, .gradient_square = 9};
    Version second_base = 7;
    bool second_reports = true;
    int shards = 1;
    ClosedGradient mean = {.samples = 2 * kShare, .square = 4};
    ClosedGradient rest = {};  // Of each further shard.
  };

  void Grant(uint32_t worker, Version base, const PushPlan& plan) {
    paceline::Grant grant;
    grant.worker = WorkerId{worker};
    grant.iteration = closing_;
    grant.base_version = base;
    grant.plan = plan;
    watch_.Granted(grant);
  }
  void Report(uint32_t worker, PushReport report) {
    report.iteration = closing_;
    watch_.Pushed(WorkerId{worker}, report);
  }
  void Play(Round of) {
    ++closing_;
    const RoundId round{static_cast<uint64_t>(closing_)};
    of.plan.kind = PushPlan::Kind::kRound;
    of.plan.round = round;
    Grant(1, 7, of.plan);
    Grant(2, of.second_base, of.plan);
    Report(1, of.first);
    if (of.second_reports) Report(2, of.second);
    watch_.Closed({.closing = closing_, .rounds = {round}});
    const auto shards = static_cast<size_t>(of.shards);
    for (int shard = 0; shard < of.shards; ++shard) {
      watch_.Answered(shards, shard, closing_, shard == 0 ? of.mean : of.rest);
    }
  }
  // Whether enough such rounds say what they should.
  bool Known(const Round& round) {
    watch_ = NoiseWatch(kShare);
    for (int i = 0; i < 20; ++i) Play(round);
    const auto noise = watch_.noise();
    if (!noise.has_value()) return false;
    EXPECT_NEAR(noise->square, 3, 1e-9);
    EXPECT_NEAR(noise->variance, 16, 1e-9);
    return true;
  }

  NoiseWatch watch_{kShare};
  Closing closing_ = 0;
};

TEST_F(NoiseWatchTest, MeasuresRounds) { EXPECT_TRUE(Known({})); }

TEST_F(NoiseWatchTest, AddsUpWhatShardsHave) {
  EXPECT_TRUE(
      Known({.shards = 3, .mean = {2 * kShare, 2}, .rest = {2 * kShare, 1}}));
  // Some train nothing.
  EXPECT_TRUE(Known({.shards = 3}));
}

TEST_F(NoiseWatchTest, LeavesOutWhatIsNotTheMeanOfKnownGradients) {
  EXPECT_FALSE(Known({.second_base = 6})) << "of other weights";
  EXPECT_FALSE(Known({.second = {.samples = kShare}})) << "an older server";
  EXPECT_FALSE(Known({.second_reports = false})) << "it was lost";
  EXPECT_FALSE(Known({.plan = {.weight = 0.5}})) << "damped";
  EXPECT_FALSE(Known({.mean = {3 * kShare, 4}})) << "of others, too";
  EXPECT_FALSE(Known({.mean = {}})) << "nothing is trained";
  EXPECT_FALSE(Known({.shards = 2, .rest = {kShare, 0}})) << "not in all";
}

TEST_F(NoiseWatchTest, WaitsForEachShardOnce) {
  for (int i = 0; i < 20; ++i) {
    Play({.shards = 1, .mean = {}});  // One that says nothing.
  }
  EXPECT_FALSE(watch_.noise().has_value());
  for (int i = 0; i < 20; ++i) {
    Round round;
    round.shards = 0;  // None has answered yet.
    Play(round);
    watch_.Answered(2, 0, closing_, {2 * kShare, 4});
    watch_.Answered(2, 0, closing_, {2 * kShare, 4});
  }
  EXPECT_FALSE(watch_.noise().has_value());
}

TEST_F(NoiseWatchTest, APlanThatWasAskedForCounts) {
  for (int i = 0; i < 20; ++i) {
    ++closing_;
    const RoundId round{static_cast<uint64_t>(closing_)};
    for (const uint32_t worker : {1, 2}) {
      Grant(worker, 7, {.kind = PushPlan::Kind::kAsk});
      watch_.Planned({.worker = WorkerId{worker},
                      .iteration = closing_,
                      .plan = PushPlan::Round(round)});
      Report(worker,
             {.samples = kShare, .gradient_square = worker == 1 ? 1.0 : 9.0});
    }
    watch_.Closed({.closing = closing_, .rounds = {round}});
    watch_.Answered(1, 0, closing_, {2 * kShare, 4});
  }
  EXPECT_NEAR(watch_.noise()->variance, 16, 1e-9);
}

TEST_F(NoiseWatchTest, SinglePushesSayNothing) {
  for (int i = 0; i < 100; ++i) {
    ++closing_;
    Grant(1, 7, {.kind = PushPlan::Kind::kImmediate});
    Report(1, {.samples = kShare, .gradient_square = 1});
  }
  EXPECT_FALSE(watch_.noise().has_value());
}

}  // namespace
}  // namespace paceline
