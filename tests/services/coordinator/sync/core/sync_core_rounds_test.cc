// What the core does about rounds that no policy sees whole: pushes that are
// discarded, paradigms that follow each other, and servers that lag behind.

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
             uint32_t train_samples = 100'000, SampleWishes wishes = {}) {
    options_.train_samples = train_samples;
    options_.batch_size = 10;
    core_ = std::make_unique<SyncCore>(options_, *MakePolicy(paradigm));
    std::vector<NewMember> members;
    for (uint32_t i = 0; i < workers; ++i)
      members.push_back({WorkerId{i}, wishes});
    core_->Start(now_, members, outputs_);
    Take();
  }

  void Switch(const std::string& paradigm) {
    core_->Switch(now_, {*MakePolicy(paradigm), "a test"}, outputs_);
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
                                .samples = SamplesIn(grant.ranges()),
                                .discarded = discarded},
                               outputs_)
                    .ok());
    Take();
  }

  // Keeps the grants with the plans that belong to them, and what was closed.
  void Take() {
    for (const Output& output : std::exchange(outputs_, {})) {
      if (const auto* const grant = std::get_if<Grant>(&output)) {
        grants_[ToNumber(grant->worker)] = *grant;
      } else if (const auto* const plan = std::get_if<PlanCommand>(&output)) {
        grants_.at(ToNumber(plan->worker)).plan = plan->plan;
      } else if (const auto* const more = std::get_if<ExtendCommand>(&output)) {
        grants_.at(ToNumber(more->worker)).extensions.push_back(more->range);
      } else if (const auto* const close = std::get_if<CloseCommand>(&output)) {
        ++closings_;
        closed_ = *close;
        unperformed_.insert(close->rounds.begin(), close->rounds.end());
      } else if (const auto* const next =
                     std::get_if<AnnounceCommand>(&output)) {
        announced_.push_back(*next);
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
  std::set<RoundId> unperformed_;
  Closing closings_ = 0;
  CloseCommand closed_;  // The last one.
  std::vector<AnnounceCommand> announced_;
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
    testing::Values("bsp", "bsp:steal=true,fill=true", "asp", "ssp:s=1", "dssp",
                    "saps", "saps:mode=damp", "cgp", "cgp:stale_weight=inverse",
                    "ksync:k=2", "kbatchsync:k=2", "backup:b=1", "kasync:k=2",
                    "kbatchasync:k=2", "psp", "elastic:r=3", "abs",
                    "syncswitch:at=0.5,straggler=leave"));

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

// Two rounds side by side: whoever has pushed goes on in the one of its number.
class TwoRoundsPolicy final : public SyncPolicy {
 public:
  void Adopt(const SyncView& view, std::vector<Action>& /*actions*/) override {
    first_ = ToNumber(view.rounds().next());
  }
  void Apply(const SyncView& /*view*/, const Event& event,
             std::vector<Action>& actions) override {
    const auto* const done = std::get_if<struct PushDone>(&event);
    if (done == nullptr) return;
    const RoundId round{first_ + ToNumber(done->worker) % 2};
    actions.push_back(Release{done->worker, PushPlan::Round(round)});
  }
  std::string Describe() const override { return "two rounds"; }

 private:
  uint64_t first_ = 0;
};

TEST_F(RoundsTest, WhoHasRoomIsNotKeptByAnotherWhoHasNone) {
  Start("bsp", 40);
  for (uint32_t worker = 0; worker < 30; worker += 2) {
    Push(worker);
    Push(worker + 1);
    Switch("bsp");
  }
  ASSERT_THAT(OpenRounds(), SizeIs(kMaxOpenRounds));
  core_->Switch(now_, {std::make_unique<TwoRoundsPolicy>(), "a test"},
                outputs_);
  for (uint32_t worker = 30; worker < 33; ++worker) {
    Push(worker);
    EXPECT_FALSE(grants_.contains(worker)) << "there is no round for it";
  }
  // Their round ends, and the second of them takes its room for the odd ones.
  Push(0);
  Push(1);
  EXPECT_FALSE(grants_.contains(30)) << "there is no round for the even ones";
  EXPECT_TRUE(grants_.contains(31));
  Push(2);
  Push(3);
  EXPECT_TRUE(grants_.contains(30));
  EXPECT_TRUE(grants_.contains(32));
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

// Each round of BSP is announced when it begins, as it is closed in the end.
TEST_F(RoundsTest, AnnouncesTheNextClosingAsItWillBe) {
  options_.schedule = RateSchedule(0.5, RateSpec{.at = {}, .warmup = 0.9}, 120);
  Start("bsp", 3, 120);
  for (Closing closing = 1; closing <= 3; ++closing) {
    ASSERT_THAT(announced_, SizeIs(closing));
    const AnnounceCommand next = announced_.back();
    EXPECT_EQ(next.closing, closing);
    EXPECT_EQ(next.gradients, 3);
    EXPECT_TRUE(core_->closing_announced());
    for (uint32_t worker = 0; worker < 3; ++worker) Push(worker);
    EXPECT_EQ(closed_.closing, closing);
    EXPECT_THAT(closed_.rounds, ElementsAre(next.round));
    EXPECT_EQ(closed_.rate, next.rate);
  }
}

TEST_F(RoundsTest, NothingIsAnnouncedThatMayComeOtherwise) {
  for (const std::string paradigm : {"bsp:steal=true,fill=true", "ksync:k=2",
                                     "cgp", "asp", "kbatchsync:k=2"}) {
    Start(paradigm, 3);
    for (uint32_t worker = 0; worker < 3; ++worker) {
      if (grants_.at(worker).plan.kind == PushPlan::Kind::kAsk) Ready(worker);
    }
    EXPECT_THAT(announced_, IsEmpty()) << paradigm;
    EXPECT_FALSE(core_->closing_announced()) << paradigm;
  }
}

// Until somebody may take more of it, nobody knows how many gradients it has.
TEST_F(RoundsTest, AStealingRoundIsAnnouncedOnceAllOfItIsBegun) {
  Start("bsp:steal=true", 2, 100'000, {.extends = true});
  EXPECT_THAT(announced_, IsEmpty());
  while (announced_.empty()) {
    now_ += absl::Seconds(1);
    for (const uint32_t worker : {0, 1}) {
      const Grant& grant = grants_.at(worker);
      if (grant.plan.kind == PushPlan::Kind::kAsk) Ready(worker);
    }
  }
  ASSERT_THAT(announced_, SizeIs(1));
  EXPECT_EQ(announced_.front().gradients, 2);
  for (const uint32_t worker : {0, 1}) {
    EXPECT_EQ(closings_, 0);
    EXPECT_EQ(grants_.at(worker).plan,
              PushPlan::Round(announced_.front().round));
    Push(worker);
  }
  EXPECT_EQ(closings_, 1);
  EXPECT_EQ(closed_.rate, announced_.front().rate);
}

// What the lost worker has pushed is closed by itself, and may be next.
TEST_F(RoundsTest, NothingIsAnnouncedWhileAFenceIsNotAnswered) {
  Start("bsp", 3);
  core_->Leave(now_, WorkerId{2}, LossReason::kStreamBroken, outputs_);
  Take();
  Push(0);
  Push(1);
  EXPECT_THAT(announced_, SizeIs(1)) << "of the first round alone";
  EXPECT_FALSE(core_->closing_announced());
  Push(0);
  core_->FenceAnswered(now_, WorkerId{2}, {.blocks = 1}, outputs_);
  Take();
  ASSERT_THAT(announced_, SizeIs(2));
  const AnnounceCommand next = announced_.back();
  EXPECT_EQ(next.gradients, 2);
  Push(1);
  EXPECT_EQ(closed_.closing, next.closing);
  EXPECT_EQ(closed_.rate, next.rate);
}

// A server may have the whole push of who was lost, and have made its closing.
TEST_F(RoundsTest, ANumberThatWasAnnouncedIsNoOtherRounds) {
  Start("bsp", 1);
  const AnnounceCommand lost = announced_.back();
  core_->Leave(now_, WorkerId{0}, LossReason::kStreamBroken, outputs_);
  core_->Join(now_, {WorkerId{1}}, outputs_);
  Take();
  // A part of it may have been made, so the next grant comes after it.
  EXPECT_EQ(closings_, 1);
  EXPECT_THAT(closed_.rounds, ElementsAre(lost.round));
  EXPECT_EQ(grants_.at(1).closing, lost.closing);
  EXPECT_EQ(grants_.at(1).base_version, 1);
  Push(1);
  EXPECT_EQ(closings_, 2);
  EXPECT_EQ(closed_.closing, lost.closing + 1);
  EXPECT_NE(closed_.rounds.front(), lost.round);
  core_->FenceAnswered(now_, WorkerId{0},
                       {.iteration = 1, .blocks_taken = 1, .blocks = 1},
                       outputs_);
  Take();
  EXPECT_EQ(closings_, 2) << "it is closed already";
}

TEST_F(RoundsTest, NothingIsAnnouncedWithAMomentumThatChanges) {
  options_.total_momentum = 0.9;
  Start("bsp", 2);
  EXPECT_THAT(announced_, IsEmpty());
}

TEST_F(RoundsTest, TheRateFollowsTheNoiseOfWhatARoundHas) {
  options_.ada_scale = true;
  options_.schedule = RateSchedule(0.1);
  Start("bsp", 4);
  for (uint32_t worker = 0; worker < 4; ++worker) Push(worker);
  EXPECT_DOUBLE_EQ(closed_.rate, 0.1) << "the noise is not known";
  // The second one is announced by now.
  core_->SetNoise(2);
  for (uint32_t worker = 0; worker < 4; ++worker) Push(worker);
  EXPECT_DOUBLE_EQ(closed_.rate, 0.1) << "a part may have this rate";
  EXPECT_DOUBLE_EQ(announced_.back().rate, 0.2);
  core_->SetNoise(5);
  Push(0);
  core_->SetNoise(8);
  for (uint32_t worker = 1; worker < 4; ++worker) Push(worker);
  EXPECT_DOUBLE_EQ(closed_.rate, 0.2) << "as it was announced";
  EXPECT_DOUBLE_EQ(announced_.back().rate, 0.1 * 4 * (8 + 1) / (8 + 4));
  // Rounds of two batches, and of one: a single push is as strong as ever.
  core_->SetNoise(2);
  Switch("kbatchsync:k=2");
  for (uint32_t worker = 0; worker < 4; ++worker) Push(worker);
  for (const uint32_t worker : {0, 1}) {
    Ready(worker);
    Push(worker);
  }
  EXPECT_DOUBLE_EQ(closed_.rate, 0.1 * 2 * (2 + 1) / (2 + 2));
  Switch("asp");
  EXPECT_DOUBLE_EQ(grants_.at(0).rate, 0.1);
}

// What has come of a round that was announced whole is no whole round.
TEST_F(RoundsTest, APartOfARoundHasTheGainOfAPart) {
  options_.ada_scale = true;
  options_.schedule = RateSchedule(0.1);
  Start("bsp", 4);
  for (uint32_t worker = 0; worker < 4; ++worker) Push(worker);
  core_->SetNoise(2);
  for (uint32_t worker = 0; worker < 4; ++worker) Push(worker);
  ASSERT_DOUBLE_EQ(announced_.back().rate, 0.2);
  Push(0);
  Push(1);
  Switch("asp");
  EXPECT_DOUBLE_EQ(closed_.rate, 0.1 * 2 * (2 + 1) / (2 + 2));
  Push(2);
  EXPECT_DOUBLE_EQ(closed_.rate, 0.1);
}

TEST_F(RoundsTest, TheNoiseIsNothingToOtherStrengths) {
  options_.schedule = RateSchedule(0.1);
  Start("bsp", 4);
  core_->SetNoise(2);
  for (int round = 0; round < 3; ++round) {
    for (uint32_t worker = 0; worker < 4; ++worker) Push(worker);
    EXPECT_DOUBLE_EQ(closed_.rate, 0.1);
    EXPECT_DOUBLE_EQ(announced_.back().rate, 0.1);
  }
}

// Servers may have made the closing that was announced, and no other one may
// have its number.
TEST_F(RoundsTest, ASwitchClosesWhatWasAnnounced) {
  Start("bsp", 3);
  Switch("kasync:k=1");
  EXPECT_EQ(closings_, 1);
  EXPECT_THAT(closed_.rounds, ElementsAre(announced_.back().round));
  EXPECT_FALSE(core_->closing_announced());
  EXPECT_EQ(core_->version(), 0) << "no push was counted";
  // What was under way is closed as it comes, and is not announced.
  for (uint32_t worker = 0; worker < 3; ++worker) Push(worker);
  EXPECT_EQ(closings_, 4);
  EXPECT_EQ(core_->version(), 3);
  Switch("bsp");
  EXPECT_THAT(announced_, SizeIs(1)) << "an old plan is open";
}

TEST_F(RoundsTest, ARoundWithoutAPushIsAnnouncedForNothing) {
  Start("bsp", 2);
  Push(0, /*discarded=*/true);
  EXPECT_TRUE(core_->closing_announced());
  Push(1, /*discarded=*/true);
  ASSERT_THAT(announced_, SizeIs(2));
  EXPECT_EQ(announced_.back().closing, 1) << "it takes the other one's place";
  EXPECT_EQ(closings_, 0);
}

}  // namespace
}  // namespace paceline
