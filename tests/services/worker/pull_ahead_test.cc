// Where rounds close one after the other, a worker asks for the next weights
// behind its report, before it has a grant for them.

#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "tests/common/security/eventually.h"
#include "tests/services/worker/fake_coordinator.h"
#include "tests/services/worker/fake_parameters.h"
#include "tests/services/worker/worker_testing.h"

namespace paceline {
namespace {

using Kind = v1::WorkerMessage;
using ::testing::ElementsAre;

// A worker that has seen three rounds close.
class PullAheadTest : public testing::Test {
 protected:
  void SetUp() override {
    session_->Register();
    BeginJob(*session_, parameters_, 7);
    // Closing 3 is to come.
    parameters_.HoldPulls(/*from_closing=*/3);
    for (int64_t closing = 0; closing < 3; ++closing) {
      session_->GrantRound(closing + 1, closing);
      ExpectPush(closing + 1);
    }
    parameters_.AwaitHeldPull();
    EXPECT_THAT(parameters_.pulls(), ElementsAre(0, 1, 2, 3));
  }

  void ExpectPush(int64_t iteration) {
    EXPECT_EQ(session_->Expect(Kind::kPushDone).push_done().iteration(),
              iteration);
  }
  // The next pull, which is held.
  void ExpectPullOf(int64_t closing) {
    parameters_.AwaitHeldPull();
    EXPECT_EQ(parameters_.pulls().back(), closing);
  }

  FakeCoordinator coordinator_;
  FakeParameters parameters_;
  RunningWorker worker_{coordinator_.address()};
  std::shared_ptr<FakeSession> session_ = coordinator_.NextSession();
};

TEST_F(PullAheadTest, TheGrantFindsTheQuestionAsked) {
  session_->GrantRound(4, 3);
  parameters_.AnswerPulls();
  ExpectPush(4);
  // The last one is behind the push of iteration 4.
  EXPECT_TRUE(Eventually([&] { return parameters_.pulls().size() == 5; }));
  EXPECT_THAT(parameters_.pulls(), ElementsAre(0, 1, 2, 3, 4));
}

TEST_F(PullAheadTest, TheWeightsMayComeBeforeTheGrant) {
  parameters_.AnswerPulls();
  session_->GrantRound(4, 3);
  ExpectPush(4);
}

TEST_F(PullAheadTest, AnotherClosingIsAskedForAnew) {
  session_->GrantRound(4, 5);
  ExpectPullOf(5);
  parameters_.AnswerPulls();
  ExpectPush(4);
}

// Another worker's update was counted between the closing and the grant.
TEST_F(PullAheadTest, WeightsWithoutAnUpdateOfTheGrantsBaseAreAskedForAnew) {
  session_->GrantRound(4, 3, /*base_version=*/4);
  ExpectPullOf(3);
  parameters_.AnswerPulls();
  ExpectPush(4);
  EXPECT_THAT(parameters_.pulls(), ElementsAre(0, 1, 2, 3, 3));
}

TEST_F(PullAheadTest, AQuestionThatRanOutIsAskedAgainWithTheGrant) {
  parameters_.FailPulls(absl::UnavailableError("parked for a lease"));
  parameters_.FailPulls(absl::OkStatus());
  session_->GrantRound(4, 3);
  ExpectPush(4);
  EXPECT_EQ(parameters_.pulls()[4], 3);
}

TEST_F(PullAheadTest, AStreamThatBreaksAsksAgain) {
  parameters_.BreakStreams(absl::UnavailableError("for a moment"));
  ExpectPullOf(3);
  parameters_.AnswerPulls();
  session_->GrantRound(4, 3);
  ExpectPush(4);
}

TEST_F(PullAheadTest, AStopLeavesTheQuestionBehind) {
  session_->Stop();
  session_->Expect(Kind::kLeaving);
  parameters_.AnswerPulls();
  BeginJob(*session_, parameters_, 8);
  session_->Grant(1);
  ExpectPush(1);
}

}  // namespace
}  // namespace paceline
