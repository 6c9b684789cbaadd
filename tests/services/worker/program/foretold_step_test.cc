// Steps that are begun before their grant has come.

#include <cstring>
#include <memory>
#include <vector>

#include "absl/synchronization/notification.h"
#include "common/permutation.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/services/worker/program/program_worker_testing.h"

namespace paceline {
namespace {

using Kind = v1::WorkerMessage;

// A worker whose next grant can be foretold: its rounds close one after the
// other, and two batches are reserved for it ahead.
class ForetoldStepTest : public ProgramWorkerTest {
 protected:
  static constexpr uint32_t kBatch = 32;

  void SetUp() override {
    ProgramWorkerTest::SetUp();
    program_ = BeginJob();
    for (int64_t closing = 0; closing < 3; ++closing) {
      SendRound(closing);
      if (closing == 0) program_->Expect(FrameKind::kLot);
      program_->Expect(FrameKind::kLot);  // Of the next one.
      ExpectStep(closing + 1);
      if (closing == 2) parameters_.HoldPulls(/*from_closing=*/3);
      FinishStep(closing + 1);
    }
  }

  static v1::Grant RoundOf(int64_t closing) {
    v1::Grant grant;
    grant.set_iteration(closing + 1);
    grant.set_closing(closing);
    grant.set_base_version(closing);
    grant.mutable_plan()->set_round(100 + closing);
    const auto begin = static_cast<uint32_t>(closing) * kBatch;
    grant.mutable_range()->set_begin(begin);
    grant.mutable_range()->set_end(begin + kBatch);
    v1::SampleRange& reserved = *grant.add_reserved();
    reserved.set_begin(begin + (closing == 0 ? 1 : 2) * kBatch);
    reserved.set_end(begin + 3 * kBatch);
    return grant;
  }
  void SendRound(int64_t closing) { SendGrant(RoundOf(closing)); }
  void SendGrant(const v1::Grant& grant) {
    v1::WorkerCommand command;
    *command.mutable_grant() = grant;
    Send(command);
  }

  // Up to where the program computes it.
  void ExpectStep(int64_t iteration) {
    const std::string step = program_->Expect(FrameKind::kStep);
    int64_t named = 0;
    memcpy(&named, step.data(), sizeof(named));
    EXPECT_EQ(named, iteration);
    program_->ExpectWeights(3);
  }
  void FinishStep(int64_t iteration) {
    program_->SayDone(iteration, 1, kBatch);
    EXPECT_EQ(session_->Expect(Kind::kPushDone).push_done().iteration(),
              iteration);
  }

  std::unique_ptr<PlayedProgram> program_;
};

TEST_F(ForetoldStepTest, IsComputedBeforeItsGrantAndPushedWithIt) {
  parameters_.AnswerPulls();
  ExpectStep(4);
  program_->SayNumbers(FrameKind::kReady, uint32_t{2}, uint32_t{3});
  program_->SayNumbers(FrameKind::kReady, uint32_t{0}, uint32_t{1});
  program_->SayDone(4, 1, kBatch);
  EXPECT_EQ(parameters_.pushes(), 3) << "its plan is not known";
  SendRound(3);
  EXPECT_EQ(session_->Expect(Kind::kPushDone).push_done().iteration(), 4);
  EXPECT_EQ(parameters_.pushes(), 4);
  EXPECT_THAT(parameters_.pulls(), testing::Contains(3).Times(1));
  // What its grant has reserved is told while the next one goes on.
  const auto order = EpochPermutation(7, 0, 1000);
  EXPECT_EQ(SamplesOf(program_->Expect(FrameKind::kLot)),
            std::vector<uint32_t>(order.begin() + 5 * kBatch,
                                  order.begin() + 6 * kBatch));
  ExpectStep(5);
  SendRound(4);
  program_->Expect(FrameKind::kLot);
  FinishStep(5);
}

// What is computed before the grant is no time in which it is waited for.
TEST_F(ForetoldStepTest, ItsSecondsAreThoseOfTheProgram) {
  parameters_.AnswerPulls();
  ExpectStep(4);
  absl::Notification never;
  never.WaitForNotificationWithTimeout(absl::Milliseconds(60));
  const uint64_t load_ns = 0;
  const uint64_t compute_ns = 40'000'000;
  program_->SayNumbers(FrameKind::kDone, int64_t{4}, double{1}, kBatch,
                       uint32_t{0}, load_ns, compute_ns);
  never.WaitForNotificationWithTimeout(absl::Milliseconds(100));
  SendRound(3);
  const auto seconds = session_->Expect(Kind::kPushDone).push_done().seconds();
  EXPECT_GE(seconds.compute(), 0.04);
  EXPECT_GE(seconds.wait(), 0);
  EXPECT_GE(seconds.compute() + seconds.wait(), 0.16);
}

TEST_F(ForetoldStepTest, WaitsForItsWeightsWhicheverIsFirst) {
  program_->Expect(FrameKind::kStep);
  SendRound(3);
  parameters_.AwaitHeldPull();
  parameters_.AnswerPulls();
  program_->ExpectWeights(3);
  program_->Expect(FrameKind::kLot);
  FinishStep(4);
}

TEST_F(ForetoldStepTest, ComesToNothingWithAnotherGrant) {
  parameters_.AnswerPulls();
  ExpectStep(4);
  // Half of the batch.
  v1::Grant smaller = RoundOf(3);
  smaller.mutable_range()->set_end(3 * kBatch + kBatch / 2);
  SendGrant(smaller);
  program_->Expect(FrameKind::kAbandon);
  program_->SayNumbers(FrameKind::kAbandoned, int64_t{4});
  const auto order = EpochPermutation(7, 0, 1000);
  program_->Expect(FrameKind::kDrop);
  EXPECT_EQ(SamplesOf(program_->Expect(FrameKind::kLot)),
            std::vector<uint32_t>(order.begin() + 3 * kBatch,
                                  order.begin() + 3 * kBatch + kBatch / 2));
  program_->Expect(FrameKind::kLot);  // Newly reserved.
  ExpectStep(4);
  program_->SayDone(4, 1, kBatch / 2);
  EXPECT_EQ(session_->Expect(Kind::kPushDone).push_done().samples(),
            kBatch / 2);
  EXPECT_EQ(parameters_.pushes(), 4);
}

TEST_F(ForetoldStepTest, ComesToNothingWhenItsSamplesAreWithdrawn) {
  parameters_.AnswerPulls();
  ExpectStep(4);
  v1::WorkerCommand drop;
  drop.mutable_drop_reserved();
  Send(drop);
  program_->Expect(FrameKind::kAbandon);
  program_->Expect(FrameKind::kDrop);
  // It had been computed already.
  program_->SayDone(4, 1, kBatch);
  v1::Grant other = RoundOf(3);
  other.mutable_range()->set_begin(500);
  other.mutable_range()->set_end(500 + kBatch);
  other.clear_reserved();
  SendGrant(other);
  program_->Expect(FrameKind::kLot);
  ExpectStep(4);
  FinishStep(4);
  EXPECT_EQ(parameters_.pushes(), 4);
}

TEST_F(ForetoldStepTest, AStopEndsItAndNothingIsPushed) {
  parameters_.AnswerPulls();
  ExpectStep(4);
  session_->Stop();
  session_->Expect(Kind::kLeaving);
  EXPECT_EQ(parameters_.pushes(), 3);
}

TEST_F(ForetoldStepTest, AStopEndsTheWaitForItsWeights) {
  program_->Expect(FrameKind::kStep);
  session_->Stop();
  session_->Expect(Kind::kLeaving);
  EXPECT_EQ(parameters_.pushes(), 3);
}

// The same samples, for another update.
TEST_F(ForetoldStepTest, ItsSamplesAreToldAgainAndWhatIsBehindThem) {
  parameters_.AnswerPulls();
  ExpectStep(4);
  v1::Grant later = RoundOf(3);
  later.set_base_version(7);
  SendGrant(later);
  program_->Expect(FrameKind::kAbandon);
  program_->SayNumbers(FrameKind::kAbandoned, int64_t{4});
  program_->Expect(FrameKind::kDrop);
  const auto order = EpochPermutation(7, 0, 1000);
  for (uint32_t batch = 3; batch < 6; ++batch) {
    EXPECT_EQ(SamplesOf(program_->Expect(FrameKind::kLot)),
              std::vector<uint32_t>(order.begin() + batch * kBatch,
                                    order.begin() + (batch + 1) * kBatch));
  }
  ExpectStep(4);
  FinishStep(4);
}

TEST_F(ForetoldStepTest, ABrokenStreamBringsItsWeightsAgain) {
  program_->Expect(FrameKind::kStep);
  parameters_.AwaitHeldPull();
  parameters_.BreakStreams(absl::UnavailableError("for a moment"));
  parameters_.AwaitHeldPull();
  parameters_.AnswerPulls();
  program_->ExpectWeights(3);
  SendRound(3);
  program_->Expect(FrameKind::kLot);
  FinishStep(4);
}

TEST_F(ForetoldStepTest, AProgramThatDiesInItIsToldOfWithTheGrant) {
  parameters_.AnswerPulls();
  ExpectStep(4);
  program_->Close();
  SendRound(3);
  ExpectFailed(absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace paceline
