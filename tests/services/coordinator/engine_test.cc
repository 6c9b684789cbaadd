#include "services/coordinator/engine.h"

#include <memory>
#include <utility>

#include "gtest/gtest.h"
#include "services/coordinator/policy/policy_spec.h"
#include "tests/services/coordinator/ledger_sink.h"
#include "tests/services/coordinator/manual_clock.h"

namespace paceline {
namespace {

constexpr WorkerId kA{1};
constexpr WorkerId kB{2};
constexpr WorkerId kC{3};
constexpr absl::Duration kNone = absl::ZeroDuration();

SyncOptions Options() {
  SyncOptions options;
  options.train_samples = 40;
  options.batch_size = 10;
  options.lease = absl::Hours(1);
  return options;
}

// One thread, one engine: that each method reaches the core, with its outputs.
class EngineTest : public ::testing::Test {
 protected:
  void Make(const char* policy, const SyncOptions& options = Options()) {
    sink_ = std::make_unique<LedgerSink>(3, options);
    engine_ = std::make_unique<Engine>(&clock_, options, *MakePolicy(policy),
                                       sink_.get());
  }

  // The worker's next grant; iteration 0 if there is none.
  Grant Next(WorkerId worker) {
    const auto grant = sink_->GrantsOf(worker).Take(kNone);
    return grant.ok() ? *grant : Grant();
  }
  absl::Status Push(WorkerId worker, Iteration iteration) {
    return engine_->PushDone(worker, {iteration, 10, 1});
  }

  ManualClock clock_;
  std::unique_ptr<LedgerSink> sink_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(EngineTest, RunsAJobToItsEnd) {
  Make("bsp");
  engine_->Start({kA, kB});
  EXPECT_EQ(Next(kA).range, (SampleRange{0, 0, 10}));
  EXPECT_EQ(Next(kB).range, (SampleRange{0, 10, 20}));
  EXPECT_TRUE(Push(kA, 1).ok());
  EXPECT_EQ(Next(kA).iteration, 0);  // Waits for the other one.
  EXPECT_TRUE(Push(kB, 1).ok());
  EXPECT_EQ(Next(kA).closing, 1);
  EXPECT_EQ(Next(kB).iteration, 2);
  EXPECT_TRUE(Push(kB, 2).ok());
  EXPECT_FALSE(sink_->AwaitFinished(kNone));
  EXPECT_TRUE(Push(kA, 2).ok());
  EXPECT_TRUE(sink_->AwaitFinished(kNone));
  EXPECT_EQ(sink_->version(), 2);
  EXPECT_EQ(sink_->samples(), 40);
}

TEST_F(EngineTest, ShowsWhereTheJobStands) {
  Make("asp");
  engine_->Start({kA, kB});
  EXPECT_EQ(engine_->DescribePolicy(), "asp");
  EXPECT_TRUE(Push(kB, 1).ok());
  const EngineView view = engine_->View();
  EXPECT_EQ(view.version, 1);
  EXPECT_EQ(view.samples_counted, 10);
  EXPECT_EQ(view.samples_total, 40);
  EXPECT_FALSE(view.finished);
  ASSERT_EQ(view.workers.size(), 2u);
  EXPECT_EQ(view.workers[0].worker, kA);
  EXPECT_EQ(view.workers[0].clock, 0);
  EXPECT_EQ(view.workers[1].worker, kB);
  EXPECT_EQ(view.workers[1].clock, 1);
}

TEST_F(EngineTest, ChangesTheParadigmAtOnce) {
  Make("bsp");
  engine_->Start({kA, kB});
  EXPECT_EQ(Next(kA).iteration, 1);
  EXPECT_TRUE(Push(kA, 1).ok());
  EXPECT_EQ(Next(kA).iteration, 0);  // Waits for the other one.
  EXPECT_TRUE(absl::IsInvalidArgument(engine_->Switch("gossip", "a try")));
  EXPECT_EQ(Next(kA).iteration, 0);
  EXPECT_TRUE(engine_->Switch("asp", "a slow worker").ok());
  EXPECT_EQ(engine_->DescribePolicy(), "asp");
  EXPECT_EQ(Next(kA).iteration, 2);
  // What was pushed for the open round has been applied.
  EXPECT_EQ(engine_->View().version, 1);
  for (Iteration i = 2; i <= 3; ++i) EXPECT_TRUE(Push(kA, i).ok());
  EXPECT_TRUE(Push(kB, 1).ok());
  EXPECT_TRUE(sink_->AwaitFinished(kNone));
  EXPECT_EQ(sink_->samples(), 40);
  EXPECT_TRUE(absl::IsFailedPrecondition(engine_->Switch("bsp", "too late")));
}

TEST_F(EngineTest, PassesOnWhatTheCoreRefuses) {
  Make("asp");
  engine_->Start({kA});
  EXPECT_TRUE(absl::IsNotFound(Push(kB, 1)));
  EXPECT_TRUE(absl::IsFailedPrecondition(Push(kA, 2)));
  EXPECT_TRUE(
      absl::IsInvalidArgument(engine_->PushDone(kA, {1, /*samples=*/11, 1})));
  EXPECT_TRUE(Push(kA, 1).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Push(kA, 1)));
  EXPECT_EQ(sink_->counted(), 1);
}

TEST_F(EngineTest, AJoinerIsGrantedAndALeaverIsFenced) {
  Make("asp");
  engine_->Start({kA});
  engine_->Join(kC);
  EXPECT_EQ(Next(kC).range, (SampleRange{0, 10, 20}));
  engine_->Leave(kC, LossReason::kDeparted);
  EXPECT_EQ(sink_->evictions().Take(kNone)->reason, LossReason::kDeparted);
  EXPECT_EQ(*sink_->fences().Take(kNone), kC);
  EXPECT_EQ(sink_->returned(), 0);  // Before the servers have answered.
  engine_->FenceAnswered(kC, {0, /*iteration=*/0, 0, 4, 0});
  EXPECT_EQ(sink_->returned(), 1);
  EXPECT_TRUE(Push(kA, 1).ok());
  EXPECT_EQ(Next(kA).range, (SampleRange{0, 0, 10}));
  EXPECT_EQ(Next(kA).range, (SampleRange{0, 10, 20}));  // The returned one.
}

TEST_F(EngineTest, SealEndsTheJobWithWhatIsInFlight) {
  Make("asp");
  engine_->Start({kA, kB});
  EXPECT_TRUE(Push(kA, 1).ok());
  engine_->Seal();
  EXPECT_TRUE(Push(kA, 2).ok());
  EXPECT_FALSE(sink_->AwaitFinished(kNone));
  EXPECT_TRUE(Push(kB, 1).ok());
  EXPECT_TRUE(sink_->AwaitFinished(kNone));
  EXPECT_EQ(sink_->samples(), 30);
  EXPECT_TRUE(engine_->View().finished);
}

TEST_F(EngineTest, MayEndBeforeItStarts) {
  Make("bsp");
  EXPECT_TRUE(engine_->View().workers.empty());
  engine_.reset();
  EXPECT_EQ(sink_->grants(), 0);
}

}  // namespace
}  // namespace paceline
