// Rounds of the first K at exponential iteration times: the expected times
// between updates of algorithms.md 5.5.

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/rng.h"
#include "gtest/gtest.h"
#include "services/coordinator/policy/policy_spec.h"

namespace paceline {
namespace {

// Eight workers whose every iteration takes an exponential time of mean 1, and
// nothing else any time: a plan is followed by its push and an abandon by its
// answer at once.
class ExponentialCluster {
 public:
  ExponentialCluster(const std::string& spec, uint64_t seed) : rng_(seed) {
    auto policy = MakePolicy(spec);
    EXPECT_TRUE(policy.ok()) << policy.status();
    policy_ = *std::move(policy);
  }

  // The mean time between two closings.
  double RunClosings(int64_t closings) {
    std::vector<AdoptedWorker> workers;
    for (uint32_t i = 0; i < 8; ++i) workers.push_back({WorkerId{i}});
    std::vector<Action> actions;
    policy_->Adopt({absl::UnixEpoch()}, workers, RoundId{1}, actions);
    Perform(actions);
    while (closings_ < closings) {
      const auto next = due_.begin();
      now_ = next->first;
      const WorkerId worker = next->second;
      due_.erase(next);
      at_.erase(worker);
      Apply(GradientReady{worker});
    }
    return now_ / static_cast<double>(closings_);
  }

 private:
  void Apply(const Event& event) {
    std::vector<Action> actions;
    policy_->Apply({absl::UnixEpoch()}, event, actions);
    Perform(actions);
  }

  void Perform(const std::vector<Action>& actions) {
    for (const Action& action : actions) {
      if (const auto* const release = std::get_if<Release>(&action)) {
        at_[release->worker] =
            due_.emplace(now_ - std::log1p(-rng_.Unit()), release->worker);
      } else if (std::holds_alternative<CloseRounds>(action)) {
        ++closings_;
      }
    }
    // Only now: what is told must fit what was decided.
    for (const Action& action : actions) {
      if (const auto* const plan = std::get_if<PlanPush>(&action)) {
        Apply(PushDone{plan->worker});
      } else if (const auto* const abandon = std::get_if<Abandon>(&action)) {
        const auto computing = at_.find(abandon->worker);
        ASSERT_NE(computing, at_.end());
        due_.erase(computing->second);
        at_.erase(computing);
        Apply(Abandoned{abandon->worker});
      }
    }
  }

  using Due = std::multimap<double, WorkerId>;

  Rng rng_;
  std::unique_ptr<SyncPolicy> policy_;
  Due due_;
  std::map<WorkerId, Due::iterator> at_;
  double now_ = 0;
  int64_t closings_ = 0;
};

double MeanTime(const std::string& spec) {
  return ExponentialCluster(spec, /*seed=*/1).RunClosings(20'000);
}

// H_8 - H_4, with a standard error of 0.0023.
TEST(FirstKTest, KSyncTakesTheFourthOfEightTimes) {
  EXPECT_NEAR(MeanTime("ksync:k=4"), 0.6345, 0.01);
}

TEST(FirstKTest, BackupWorkersAreKSyncOfTheOthers) {
  EXPECT_EQ(MeanTime("backup:b=4"), MeanTime("ksync:k=4"));
}

// H_8.
TEST(FirstKTest, KSyncOfAllTakesTheLongestTime) {
  EXPECT_NEAR(MeanTime("ksync:k=8"), 2.7179, 0.04);
  EXPECT_EQ(MeanTime("ksync:k=8"), MeanTime("ksync:k=100"));
}

// K / P, at a standard error of 0.0018.
TEST(FirstKTest, BatchesComeAtTheRateOfAllWorkers) {
  EXPECT_NEAR(MeanTime("kbatchsync:k=4"), 0.5, 0.01);
  EXPECT_NEAR(MeanTime("kbatchasync:k=4"), 0.5, 0.01);
}

TEST(FirstKTest, KAsyncOfOneIsAspAndOfAllIsBsp) {
  EXPECT_NEAR(MeanTime("kasync:k=1"), 0.125, 0.005);
  EXPECT_NEAR(MeanTime("kasync:k=8"), 2.7179, 0.04);
}

// At most fourteen rounds are open: then the newest takes more than K.
TEST(FirstKTest, TheFifteenthRoundWaits) {
  for (const std::string spec : {"kasync:k=1", "kbatchasync:k=1"}) {
    auto policy = *MakePolicy(spec);
    std::vector<AdoptedWorker> workers;
    for (uint32_t i = 0; i < 20; ++i) workers.push_back({WorkerId{i}});
    std::vector<Action> actions;
    policy->Adopt({absl::UnixEpoch()}, workers, RoundId{1}, actions);
    std::map<RoundId, int> plans;
    actions.clear();
    for (uint32_t i = 0; i < 20; ++i) {
      policy->Apply({absl::UnixEpoch()}, GradientReady{WorkerId{i}}, actions);
    }
    for (const Action& action : actions) {
      const auto* const plan = std::get_if<PlanPush>(&action);
      if (plan != nullptr) ++plans[plan->plan.round];
    }
    EXPECT_EQ(plans.size(), 14u);
    EXPECT_EQ(plans[RoundId{13}], 1);
    EXPECT_EQ(plans[RoundId{14}], 7);
    // The first is closed, so that the next one can open.
    policy->Apply({absl::UnixEpoch()}, PushDone{WorkerId{0}}, actions);
    actions.clear();
    policy->Apply({absl::UnixEpoch()}, GradientReady{WorkerId{0}}, actions);
    EXPECT_EQ(std::get<PlanPush>(actions.back()).plan,
              PushPlan::Round(RoundId{15}));
  }
}

}  // namespace
}  // namespace paceline
