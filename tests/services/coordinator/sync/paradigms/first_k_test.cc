// Rounds of the first K at exponential iteration times: the expected times
// between updates of algorithms.md 5.5.

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "common/rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/sanitized.h"
#include "tests/services/coordinator/sync/paradigms/policy_driver.h"
#include "tests/services/coordinator/sync/paradigms/policy_of_text.h"

namespace paceline {
namespace {

// The mean time between two closings of eight workers whose every iteration
// takes an exponential time of mean 1, and nothing else any time.
double MeanTime(const std::string& spec, int64_t closings) {
  const auto policy = MakePolicy(spec);
  EXPECT_TRUE(policy.ok()) << policy.status();
  Rng rng(1);
  PolicyDriver driver(
      **policy,
      {.unit = absl::Seconds(1),
       .times = std::vector<double>(8, 1),
       .time_of = [&rng](WorkerId, double) { return -std::log1p(-rng.Unit()); },
       .instant_answers = true});
  driver.RunClosings(closings);
  EXPECT_THAT(driver.violations(), testing::IsEmpty());
  return driver.now() / static_cast<double>(closings);
}

// Enough for a mean. A sanitizer looks for other faults than a wrong one.
constexpr int64_t kMany = kSanitized ? 2'000 : 20'000;
// Of a mean of `kMany`, as a multiple of that of 20,000.
constexpr double kError = kSanitized ? 3.2 : 1;
// Enough to tell two histories apart.
constexpr int64_t kSome = 1'000;

// H_8 - H_4, with a standard error of 0.0023.
TEST(FirstKTest, KSyncTakesTheFourthOfEightTimes) {
  EXPECT_NEAR(MeanTime("ksync:k=4", kMany), 0.6345, 0.01 * kError);
}

TEST(FirstKTest, BackupWorkersAreKSyncOfTheOthers) {
  EXPECT_EQ(MeanTime("backup:b=4", kSome), MeanTime("ksync:k=4", kSome));
}

// H_8.
TEST(FirstKTest, KSyncOfAllTakesTheLongestTime) {
  EXPECT_NEAR(MeanTime("ksync:k=8", kMany), 2.7179, 0.04 * kError);
  EXPECT_EQ(MeanTime("ksync:k=8", kSome), MeanTime("ksync:k=100", kSome));
}

// K / P, at a standard error of 0.0018.
TEST(FirstKTest, BatchesComeAtTheRateOfAllWorkers) {
  EXPECT_NEAR(MeanTime("kbatchsync:k=4", kMany), 0.5, 0.01 * kError);
  EXPECT_NEAR(MeanTime("kbatchasync:k=4", kMany), 0.5, 0.01 * kError);
}

TEST(FirstKTest, KAsyncOfOneIsAspAndOfAllIsBsp) {
  EXPECT_NEAR(MeanTime("kasync:k=1", kMany), 0.125, 0.005 * kError);
  EXPECT_NEAR(MeanTime("kasync:k=8", kMany), 2.7179, 0.04 * kError);
}

// At most fourteen rounds are begun: then the newest takes more than K.
TEST(FirstKTest, TheFifteenthRoundWaits) {
  for (const std::string spec : {"kasync:k=1", "kbatchasync:k=1"}) {
    const auto policy = *MakePolicy(spec);
    SyncView view;
    for (uint32_t i = 0; i < 20; ++i) view.Add(WorkerId{i});
    std::vector<Action> actions;
    std::map<RoundId, int> plans;
    const auto apply = [&](const Event& event) {
      actions.clear();
      policy->Apply(view, event, actions);
      for (const Action& action : actions) {
        if (const auto* const plan = std::get_if<PlanPush>(&action)) {
          view.mutable_rounds().Issued(plan->plan.round);
          ++plans[plan->plan.round];
        }
        if (std::holds_alternative<CloseRounds>(action)) {
          view.mutable_rounds().Drained(RoundId{1}, 1);
        }
      }
    };
    policy->Adopt(view, actions);
    for (uint32_t i = 0; i < 20; ++i) {
      view.Release(WorkerId{i});
      apply(GradientReady{WorkerId{i}});
    }
    EXPECT_EQ(plans.size(), 14u);
    EXPECT_EQ(plans[RoundId{13}], 1);
    EXPECT_EQ(plans[RoundId{14}], 7);
    // The first is closed, so that the next one can open.
    view.mutable_rounds().Pushed(RoundId{1}, {});
    view.Tell(PushDone{WorkerId{0}});
    apply(PushDone{WorkerId{0}});
    view.Release(WorkerId{0});
    apply(GradientReady{WorkerId{0}});
    EXPECT_EQ(plans[RoundId{15}], 1);
  }
}

}  // namespace
}  // namespace paceline
