// What can be changed of a job that runs, and from where it can go on.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/coordinator/sync/core/sync_core.h"
#include "tests/services/coordinator/sync/paradigms/policy_of_text.h"

namespace paceline {
namespace {

using ::testing::DoubleEq;
using ::testing::IsEmpty;

constexpr WorkerId kA{0};
constexpr WorkerId kB{1};

absl::Time At(double seconds) {
  return absl::UnixEpoch() + absl::Seconds(seconds);
}

// Eight samples, two to a push, two workers.
class SyncCoreChangesTest : public testing::Test {
 protected:
  SyncCoreChangesTest() {
    options_.train_samples = 8;
    options_.batch_size = 2;
    options_.schedule = RateSchedule(0.5);
  }

  void Start(const std::string& paradigm) {
    core_ = std::make_unique<SyncCore>(options_, *MakePolicy(paradigm));
    core_->Start(At(0), {kA, kB}, outputs_);
  }

  void Push(double seconds, WorkerId worker, Iteration iteration,
            uint32_t samples = 2) {
    const absl::Status status =
        core_->PushDone(At(seconds), worker,
                        {.iteration = iteration, .samples = samples}, outputs_);
    EXPECT_TRUE(status.ok()) << status;
  }

  // The outputs of that kind since the last time.
  template <class Kind>
  std::vector<Kind> Take() {
    std::vector<Kind> taken;
    for (const Output& output : std::exchange(outputs_, {})) {
      if (const Kind* const kind = std::get_if<Kind>(&output)) {
        taken.push_back(*kind);
      }
    }
    return taken;
  }

  SyncOptions options_;
  std::unique_ptr<SyncCore> core_;
  std::vector<Output> outputs_;
};

TEST_F(SyncCoreChangesTest, APushInAnOpenRoundIsStillToBeCounted) {
  Start("bsp");
  ResumePoint point = core_->TakeResumePoint();
  EXPECT_EQ(point.snapshot, 1);
  EXPECT_EQ(point.version, 0);
  EXPECT_EQ(point.samples, 0);
  EXPECT_EQ(point.position, (SamplePosition{0, 4, {{0, 0, 2}, {0, 2, 4}}}));
  EXPECT_FALSE(point.exact);

  Push(1, kA, 1);
  point = core_->TakeResumePoint();
  EXPECT_EQ(point.snapshot, 2);
  EXPECT_EQ(core_->samples_counted(), 2);
  EXPECT_EQ(point.samples, 0) << "no weight has it yet";
  EXPECT_EQ(point.position, (SamplePosition{0, 4, {{0, 0, 2}, {0, 2, 4}}}));

  Push(1, kB, 1);
  point = core_->TakeResumePoint();
  EXPECT_EQ(point.version, 1);
  EXPECT_EQ(point.samples, 4);
  EXPECT_EQ(point.position, (SamplePosition{1, 0, {{0, 4, 6}, {0, 6, 8}}}));
}

TEST_F(SyncCoreChangesTest, ADiscardedPushLeavesNothingToBeClosed) {
  Start("bsp");
  ASSERT_TRUE(core_
                  ->PushDone(At(1), kA,
                             {.iteration = 1, .samples = 2, .discarded = true},
                             outputs_)
                  .ok());
  const ResumePoint point = core_->TakeResumePoint();
  EXPECT_EQ(point.samples, 2);
  EXPECT_EQ(point.position, (SamplePosition{0, 4, {{0, 2, 4}}}));
}

TEST_F(SyncCoreChangesTest, AnImmediatePushIsInTheWeights) {
  Start("asp");
  Push(1, kA, 1);
  const ResumePoint point = core_->TakeResumePoint();
  EXPECT_EQ(point.version, 1);
  EXPECT_EQ(point.samples, 2);
  EXPECT_EQ(point.position, (SamplePosition{0, 6, {{0, 2, 4}, {0, 4, 6}}}));
}

// Its servers say that they took it after the round was closed: it was drained
// with that round, and nothing of it waits for another.
TEST_F(SyncCoreChangesTest, ALostPushThatWasDrainedIsInTheWeights) {
  Start("bsp");
  core_->Leave(At(1), kA, LossReason::kStreamBroken, outputs_);
  Push(2, kB, 1);
  EXPECT_EQ(core_->version(), 1);
  core_->FenceAnswered(At(3), kA,
                       {.server = 0,
                        .iteration = 1,
                        .blocks_taken = 1,
                        .blocks = 1,
                        .samples = 2},
                       outputs_);
  EXPECT_EQ(core_->samples_counted(), 4);
  const ResumePoint point = core_->TakeResumePoint();
  EXPECT_EQ(point.samples, 4);
  EXPECT_EQ(point.position, (SamplePosition{0, 6, {{0, 4, 6}}}));
  Push(4, kB, 2);
  Push(5, kB, 3);
  ASSERT_TRUE(core_->finished());
  EXPECT_TRUE(core_->TakeResumePoint().exact);
}

TEST_F(SyncCoreChangesTest, SealedAndEndedItIsExact) {
  Start("asp");
  core_->Seal(At(1), outputs_);
  Push(2, kA, 1);
  EXPECT_FALSE(core_->TakeResumePoint().exact);
  Push(3, kB, 1, /*samples=*/1);
  ASSERT_TRUE(core_->finished());
  const ResumePoint point = core_->TakeResumePoint();
  EXPECT_TRUE(point.exact);
  EXPECT_EQ(point.samples, 3);
  EXPECT_EQ(point.position, (SamplePosition{0, 4, {{0, 3, 4}}}));
  // After those of the snapshots that the core has put out itself.
  EXPECT_EQ(point.snapshot, Take<SnapshotCommand>().back().snapshot + 1);
}

TEST_F(SyncCoreChangesTest, GoesOnFromAPointWithItsVersionAndRate) {
  options_.start_version = 40;
  options_.start = {0, 6, {{0, 1, 2}}};
  options_.eval_every = 3;
  Start("asp");
  EXPECT_EQ(core_->version(), 40);
  EXPECT_EQ(core_->samples_counted(), 5);
  EXPECT_EQ(core_->samples_total(), 8);
  const std::vector<Grant> grants = Take<Grant>();
  ASSERT_EQ(grants.size(), 2u);
  EXPECT_EQ(grants[0].range, (SampleRange{0, 1, 2}));
  EXPECT_EQ(grants[1].range, (SampleRange{0, 6, 8}));
  EXPECT_EQ(grants[0].base_version, 40);
  EXPECT_EQ(grants[0].closing, 0) << "the servers' closings begin anew";
  Push(1, kA, 1, 1);
  const std::vector<SnapshotCommand> snapshots = Take<SnapshotCommand>();
  ASSERT_EQ(snapshots.size(), 1u) << "six samples are counted";
  EXPECT_EQ(snapshots[0].samples, 6);
  EXPECT_EQ(snapshots[0].version, 41);
  Push(2, kB, 1);
  EXPECT_TRUE(core_->finished());
}

TEST_F(SyncCoreChangesTest, AtItsEndThereIsNothingToDo) {
  options_.start_version = 4;
  options_.start = {1, 0, {}};
  Start("bsp");
  EXPECT_TRUE(core_->finished());
  const auto snapshots = Take<SnapshotCommand>();
  ASSERT_EQ(snapshots.size(), 1u);
  EXPECT_TRUE(snapshots[0].last);
}

TEST_F(SyncCoreChangesTest, MoreSamplesWakeThoseWhoAreIdle) {
  options_.max_samples = 2;
  Start("asp");
  EXPECT_EQ(Take<Grant>().size(), 1u);
  core_->SetMaxSamples(At(1), 6, outputs_);
  const std::vector<Grant> grants = Take<Grant>();
  ASSERT_EQ(grants.size(), 1u);
  EXPECT_EQ(grants[0].worker, kB);
  Push(2, kA, 1);
  Push(3, kB, 1);
  Push(4, kA, 2);
  EXPECT_TRUE(core_->finished());
  EXPECT_EQ(core_->samples_counted(), 6);
}

TEST_F(SyncCoreChangesTest, FewerSamplesEndTheJobWithWhatIsInFlight) {
  Start("asp");
  Push(1, kA, 1);
  core_->SetMaxSamples(At(2), 1, outputs_);
  EXPECT_FALSE(core_->finished());
  EXPECT_EQ(core_->samples_total(), 6) << "as many were dealt";
  Push(3, kA, 2);
  Push(3, kB, 1);
  EXPECT_TRUE(core_->finished());
  EXPECT_EQ(core_->samples_counted(), 6);
  core_->SetMaxSamples(At(4), 100, outputs_);  // Too late.
  EXPECT_TRUE(core_->finished());
}

TEST_F(SyncCoreChangesTest, AllCountedAlreadyEndsItAtOnce) {
  Start("bsp");
  core_->Leave(At(1), kB, LossReason::kDeparted, outputs_);
  core_->FenceAnswered(At(1), kB, {.blocks = 1}, outputs_);
  Push(2, kA, 1);
  Push(3, kA, 2);
  // Of kB's range too; kA computes the third now.
  core_->SetMaxSamples(At(3), 1, outputs_);
  EXPECT_FALSE(core_->finished());
  Push(4, kA, 3);
  EXPECT_TRUE(core_->finished());
  EXPECT_THAT(core_->TakeResumePoint().position.open, IsEmpty());
}

TEST_F(SyncCoreChangesTest, AnotherScheduleHoldsFromTheNextGrantOn) {
  Start("asp");
  EXPECT_THAT(Take<Grant>()[0].rate, DoubleEq(0.5));
  core_->SetSchedule(RateSchedule(0.125));
  Push(1, kA, 1);
  EXPECT_THAT(Take<Grant>()[0].rate, DoubleEq(0.125));
}

TEST_F(SyncCoreChangesTest, AnotherScheduleHoldsForAnOpenRound) {
  Start("bsp");
  Push(1, kA, 1);
  core_->SetSchedule(RateSchedule(0.125));
  Push(1, kB, 1);
  EXPECT_THAT(Take<CloseCommand>()[0].rate, DoubleEq(0.125));
}

// By what is measured from then on: each worker's second push.
TEST_F(SyncCoreChangesTest, BatchesAreBalancedFromThenOn) {
  options_.train_samples = 1'000;
  Start("asp");
  core_->SetBatching(Batching::kBalanced);
  // kA takes a second for two samples, kB four.
  for (int i = 1; i <= 8; ++i) {
    Push(i, kA, i);
    for (const Grant& grant : Take<Grant>()) EXPECT_EQ(grant.range.size(), 2u);
    if (i == 4) Push(i, kB, 1);
  }
  Push(8, kB, 2);
  Push(9, kA, 9);
  const std::vector<Grant> balanced = Take<Grant>();
  ASSERT_EQ(balanced.size(), 2u);
  EXPECT_EQ(balanced[0].range.size(), 1u);  // 4 * 1/5, at least one.
  EXPECT_EQ(balanced[1].range.size(), 3u);
  core_->SetBatching(Batching::kEven);
  Push(11, kA, 10, 3);
  Push(12, kB, 3, 1);
  for (const Grant& grant : Take<Grant>()) EXPECT_EQ(grant.range.size(), 2u);
}

}  // namespace
}  // namespace paceline
