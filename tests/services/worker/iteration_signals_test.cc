#include "services/worker/iteration_signals.h"

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "tests/services/worker/fake_coordinator.h"

namespace paceline {
namespace {

constexpr int64_t kIteration = 7;

v1::WorkerCommand AbandonOf(int64_t iteration) {
  v1::WorkerCommand command;
  command.mutable_abandon()->set_iteration(iteration);
  return command;
}

v1::WorkerCommand DiscardOf(int64_t iteration) {
  v1::WorkerCommand command;
  command.mutable_plan_push()->set_iteration(iteration);
  command.mutable_plan_push()->mutable_plan()->set_discard(true);
  return command;
}

class IterationSignalsTest : public ::testing::Test {
 protected:
  bool AwaitPlan() { return signals_.AwaitAnswer(kTestPatience); }

  FakeCoordinator coordinator_;
  ControlStream control_{
      std::make_shared<CoordinatorAddresses>(coordinator_.address()),
      v1::WorkerHello()};
  std::shared_ptr<FakeSession> session_ = coordinator_.NextSession();
  IterationSignals signals_{&control_, kIteration};
};

TEST_F(IterationSignalsTest, APlanComes) {
  session_->Send(DiscardOf(kIteration - 1));  // Too late.
  session_->Send(DiscardOf(kIteration));
  EXPECT_TRUE(AwaitPlan());
  EXPECT_TRUE(signals_.plan()->discard());
  EXPECT_FALSE(signals_.abandon());
}

// Under K-sync a gradient that is ready too late: its worker was told to drop
// it, and is then told what to do with it. It drops it, so that its samples are
// dealt again and not used up.
TEST_F(IterationSignalsTest, WhoWasToldToDropItDoesSoWhateverThePlan) {
  session_->Send(AbandonOf(kIteration));
  session_->Send(DiscardOf(kIteration));
  EXPECT_FALSE(AwaitPlan());
  EXPECT_TRUE(signals_.abandon());
  EXPECT_TRUE(signals_.Over());
}

TEST_F(IterationSignalsTest, AnEarlierIterationsEndIsNotThisOnes) {
  session_->Send(AbandonOf(kIteration - 1));
  session_->Send(DiscardOf(kIteration));
  EXPECT_TRUE(AwaitPlan());
  EXPECT_FALSE(signals_.Over());
}

}  // namespace
}  // namespace paceline
