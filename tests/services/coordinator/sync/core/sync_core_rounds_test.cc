// What the core does about rounds that no policy sees whole: pushes that are
// discarded, workers that are lost in the middle of one, paradigms that follow
// each other, and servers that lag behind.

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "common/round_limit.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/coordinator/sync/core/sync_core.h"
#include "tests/services/coordinator/sync/paradigms/policy_of_text.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A job of workers 0, 1, ... who do what a test says.
class RoundsTest : public testing::Test {
 protected:
  void Start(const std::string& paradigm, uint32_t workers,
             uint32_t train_samples = 100'000) {
    options_.train_samples = train_samples;
    options_.batch_size = 10;
    core_ = std::make_unique<SyncCore>(options_, *MakePolicy(paradigm));
    std::vector<WorkerId> ids;
    for (uint32_t i = 0; i < workers; ++i) ids.push_back(WorkerId{i});
    core_->Start(now_, ids, outputs_);
    Take();
  }

  void Switch(const std::string& paradigm) {
    core_->Switch(now_, *MakePolicy(paradigm), "a test", outputs_);
    Take();
  }
  void Ready(uint32_t worker) {
    EXPECT_TRUE(core_
                    ->GradientReady(now_, WorkerId{worker},
                                    grants_.at(worker).iteration, outputs_)
                    .ok());
    Take();
  }
  void Push(uint32_t worker, bool discarded = false) {
    const Grant grant = grants_.at(worker);
    grants_.erase(worker);
    EXPECT_TRUE(core_
                    ->PushDone(now_, grant.worker,
                               {.iteration = grant.iteration,
                                .samples = grant.range.size(),
                                .discarded = discarded},
                               outputs_)
                    .ok());
    Take();
  }
  void Lose(uint32_t worker, uint32_t taken) {
    const Iteration iteration = grants_.at(worker).iteration;
    core_->Leave(now_, WorkerId{worker}, LossReason::kStreamBroken, outputs_);
    core_->FenceAnswered(
        now_, WorkerId{worker},
        {.iteration = iteration, .blocks_taken = taken, .blocks = 4}, outputs_);
    grants_.erase(worker);
    Take();
  }

  // Keeps the grants with the plans that belong to them, and what was closed.
  void Take() {
    closed_.clear();
    refreshed_.clear();
    abandoned_.clear();
    for (const Output& output : std::exchange(outputs_, {})) {
      if (const auto* const grant = std::get_if<Grant>(&output)) {
        grants_[ToNumber(grant->worker)] = *grant;
      } else if (const auto* const plan = std::get_if<PlanCommand>(&output)) {
        grants_.at(ToNumber(plan->worker)).plan = plan->plan;
      } else if (const auto* const close = std::get_if<CloseCommand>(&output)) {
        ++closings_;
        for (const RoundId round : close->rounds) {
          closed_.push_back(ToNumber(round));
          unperformed_.insert(round);
        }
      } else if (const auto* const to = std::get_if<RefreshCommand>(&output)) {
        refreshed_.push_back(to->worker);
      } else if (const auto* const told =
                     std::get_if<AbandonCommand>(&output)) {
        abandoned_.push_back(told->worker);
      }
    }
  }

  // Of which rounds a server can have accumulators.
  std::set<RoundId> OpenRounds() const {
    std::set<RoundId> open;
    for (const auto& [worker, grant] : grants_) {
      if (grant.plan.kind == PushPlan::Kind::kRound) {
        open.insert(grant.plan.round);
      }
    }
    if (options_.closings_acknowledged) {
      open.insert(unperformed_.begin(), unperformed_.end());
    }
    return open;
  }

  SyncOptions options_;
  std::unique_ptr<SyncCore> core_;
  std::vector<Output> outputs_;
  absl::Time now_ = absl::UnixEpoch();
  std::map<uint32_t, Grant> grants_;  // The open ones, by worker.
  std::vector<uint64_t> closed_;      // By the latest call.
  std::vector<WorkerId> refreshed_;
  std::vector<WorkerId> abandoned_;
  std::set<RoundId> unperformed_;
  Closing closings_ = 0;
};

class DiscardedPushTest : public RoundsTest,
                          public testing::WithParamInterface<std::string> {};

// A round into which nobody has pushed is not closed, and no version comes of
// it, under any paradigm; and everybody goes on.
TEST_P(DiscardedPushTest, IsNoUpdate) {
  Start(GetParam(), 3);
  for (int i = 0; i < 12; ++i) {
    const uint32_t worker = i % 3;
    if (!grants_.contains(worker)) continue;
    // Some have asked before they break off.
    if (i % 2 == 0 && grants_.at(worker).plan.kind == PushPlan::Kind::kAsk) {
      Ready(worker);
    }
    Push(worker, /*discarded=*/true);
    ASSERT_FALSE(grants_.empty());
  }
  EXPECT_EQ(closings_, 0);
  EXPECT_EQ(core_->version(), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Paradigms, DiscardedPushTest,
    testing::Values("bsp", "asp", "ssp:s=1", "dssp", "saps", "saps:mode=damp",
                    "cgp", "cgp:stale_weight=inverse", "ksync:k=2",
                    "kbatchsync:k=2", "backup:b=1", "kasync:k=2",
                    "kbatchasync:k=2", "psp", "elastic:r=3", "abs",
                    "syncswitch:at=0.5"));

// w0 leaves a part of its push in the round and is lost; w1, the other one of
// the round, breaks off. Nobody but the core knows that there is something.
TEST_F(RoundsTest, LeftoversAreClosedWhenTheLastPlanEndsWithoutAPush) {
  Start("kasync:k=2", 3);
  Ready(0);
  Ready(1);
  Lose(0, /*taken=*/1);
  EXPECT_THAT(closed_, IsEmpty()) << "w1 may still push";
  Push(1, /*discarded=*/true);
  EXPECT_THAT(closed_, ElementsAre(1));
}

TEST_F(RoundsTest, AGradientThatWasTakenAndIsLostLeavesItsPlace) {
  Start("ksync:k=2", 3);
  Ready(0);
  Lose(0, /*taken=*/0);
  Ready(1);
  EXPECT_THAT(abandoned_, IsEmpty()) << "the round has one of two";
  Ready(2);
  Push(1);
  EXPECT_THAT(closed_, IsEmpty());
  Push(2);
  EXPECT_THAT(closed_, ElementsAre(1));
}

// The draining of the first paradigm's round is an update of its own: nobody
// lags by it.
TEST_F(RoundsTest, AHandOverTakesOverAtTheVersionAfterTheDraining) {
  Start("syncswitch:first=bsp,then=saps:s=2,at=0.1", 3, 100);
  Push(0);
  EXPECT_THAT(closed_, ElementsAre(1));
  EXPECT_EQ(core_->version(), 1);
  Push(0);
  EXPECT_EQ(core_->version(), 2);
  EXPECT_THAT(refreshed_, IsEmpty()) << "w1 and w2 are one behind";
  Push(0);
  EXPECT_THAT(refreshed_, SizeIs(2));
}

// Fourteen rounds of old pushes are under way while the new paradigm begins its
// own.
TEST_F(RoundsTest, ASwitchDoesNotOpenMoreRoundsThanTheServersTake) {
  Start("kbatchasync:k=1", 40);
  for (uint32_t worker = 0; worker < 20; ++worker) Ready(worker);
  EXPECT_THAT(OpenRounds(), SizeIs(14));
  for (const std::string paradigm : {"kasync:k=1", "kbatchasync:k=1", "cgp"}) {
    Switch(paradigm);
    for (int i = 0; i < 3; ++i) {
      for (uint32_t worker = 14; worker < 20; ++worker) {
        if (!grants_.contains(worker)) continue;
        if (grants_.at(worker).plan.kind == PushPlan::Kind::kAsk) Ready(worker);
        EXPECT_LE(OpenRounds().size(), kMaxOpenRounds) << paradigm;
        Push(worker);
        EXPECT_LE(OpenRounds().size(), kMaxOpenRounds) << paradigm;
      }
    }
  }
}

// A paradigm that needs a round waits for one: here each switch leaves a round
// for which two workers compute.
TEST_F(RoundsTest, ARoundThatHasNoRoomIsPutOffUntilThereIs) {
  Start("bsp", 40);
  for (uint32_t worker = 0; worker < 34; worker += 2) {
    Push(worker);
    Push(worker + 1);
    Switch("bsp");
    EXPECT_LE(OpenRounds().size(), kMaxOpenRounds);
  }
  EXPECT_THAT(OpenRounds(), SizeIs(kMaxOpenRounds));
  EXPECT_FALSE(grants_.contains(33)) << "there is no round for it";
  // The others of the first round, and then it has room.
  for (uint32_t worker = 34; worker < 40; ++worker) Push(worker);
  EXPECT_LE(OpenRounds().size(), kMaxOpenRounds);
  EXPECT_TRUE(grants_.contains(33));
}

// The closings are under way to a server that does not answer.
TEST_F(RoundsTest, ARoundIsInUseUntilTheServersHavePerformedItsClosing) {
  options_.servers = 2;
  options_.closings_acknowledged = true;
  Start("kbatchasync:k=1", 40);
  for (uint32_t worker = 0; worker < 40; ++worker) {
    Ready(worker);
    if (grants_.at(worker).plan.kind == PushPlan::Kind::kRound) Push(worker);
    EXPECT_LE(OpenRounds().size(), kMaxOpenRounds);
  }
  EXPECT_THAT(unperformed_, SizeIs(kMaxOpenRounds));
  EXPECT_EQ(grants_.at(39).plan, PushPlan::Ask()) << "there is no round for it";
  core_->ClosingPerformed(now_, 0, closings_, outputs_);
  Take();
  EXPECT_EQ(grants_.at(39).plan, PushPlan::Ask()) << "one server lags behind";
  core_->ClosingPerformed(now_, 1, closings_, outputs_);
  unperformed_.clear();
  Take();
  EXPECT_EQ(grants_.at(39).plan.kind, PushPlan::Kind::kRound);
  EXPECT_LE(OpenRounds().size(), kMaxOpenRounds);
}

}  // namespace
}  // namespace paceline
