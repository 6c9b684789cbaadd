// A worker that is the agent of a program: coordinator, parameter server and
// program are played by the test, over real gRPC and a real socket.

#include <cmath>
#include <memory>
#include <optional>

#include "common/permutation.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/worker/program/program_agent.h"
#include "tests/common/open_descriptors.h"
#include "tests/services/worker/program/program_worker_testing.h"

namespace paceline {
namespace {

using Kind = v1::WorkerMessage;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(ProgramWorkerTest, TheProgramIsToldOfTheJobAndTheCoordinatorOfTheModel) {
  session_->Assign(ProgramAssignment());
  auto program = Connect();
  const nlohmann::json job =
      program->Attach({{"lookahead", 64},
                       {"micro_batch", 8},
                       {"optimizer", "sgd:momentum=0.9"}});
  EXPECT_EQ(job["protocol"], 1);
  EXPECT_EQ(job["job"], "namespaces/a/jobs/j");
  EXPECT_EQ(job["worker"], "w0");
  EXPECT_EQ(job["role"], "trainer");
  EXPECT_EQ(job["arguments"], nlohmann::json({{"depth", "18"}}));
  EXPECT_EQ(job["seed"], 7);
  EXPECT_EQ(job["batch_size"], 32);
  EXPECT_EQ(job["micro_batch"], 32);
  EXPECT_EQ(job["wire"], "fp32");
  EXPECT_EQ(job["optimizer"], "sgd:momentum=0.9");
  EXPECT_EQ(job["learning_rate"], 0.25);
  EXPECT_EQ(job["data"], "program");
  const auto ready = session_->Expect(Kind::kReady).ready();
  EXPECT_EQ(ready.train_samples(), 1000u);
  EXPECT_EQ(ready.lookahead(), 64u);
  EXPECT_EQ(ready.micro_batch(), 8u);
  ASSERT_EQ(ready.tensors_size(), 3);
  EXPECT_EQ(ready.tensors(0).name(), "w");
  EXPECT_THAT(ready.tensors(0).shape(), ElementsAre(2, 3));
  EXPECT_EQ(ready.tensors(0).size(), 6);
  EXPECT_EQ(ready.tensors(1).kind(), v1::TensorSpec::FROZEN);
  EXPECT_EQ(ready.tensors(2).kind(), v1::TensorSpec::TRAINED);
  EXPECT_EQ(ready.tensors(2).rate_factor(), 2);
}

TEST_F(ProgramWorkerTest, AStepFromTheGrantToItsPush) {
  auto program = BeginJob();
  Send(GrantOf(5, 100, 132));
  const auto order = EpochPermutation(7, 0, 1000);
  EXPECT_EQ(SamplesOf(program->Expect(FrameKind::kLot)),
            std::vector<uint32_t>(order.begin() + 100, order.begin() + 132));
  const std::string step = program->Expect(FrameKind::kStep);
  EXPECT_EQ(step.size(), 48u);
  EXPECT_EQ(step[20], 1) << "gradients may leave early";
  program->ExpectWeights(3);
  EXPECT_THAT(program->weights(0), Each(1.0f));
  EXPECT_THAT(program->weights(1), Each(2.0f));
  EXPECT_THAT(program->weights(2), Each(3.0f));
  std::ranges::fill(program->gradients(0), 0.5f);
  std::ranges::fill(program->gradients(2), -0.5f);
  program->SayDone(5, /*loss_sum=*/64, 32);
  const auto done = session_->Expect(Kind::kPushDone).push_done();
  EXPECT_EQ(done.iteration(), 5);
  EXPECT_EQ(done.samples(), 32u);
  EXPECT_EQ(done.blocks(), 2u) << "what is frozen is not pushed";
  EXPECT_EQ(done.loss(), 2);
  EXPECT_EQ(parameters_.Pushed(0), FloatsOf({.5, .5, .5, .5, .5, .5}));
  EXPECT_EQ(parameters_.Pushed(2), FloatsOf({-.5, -.5}));
}

TEST_F(ProgramWorkerTest, GradientsLeaveWhileOthersAreComputed) {
  auto program = BeginJob();
  parameters_.HoldPushes();
  Send(GrantOf(1, 0, 32));
  TakeStep(*program);
  std::ranges::fill(program->gradients(2), 4.0f);
  program->SayNumbers(FrameKind::kReady, uint32_t{2}, uint32_t{3});
  EXPECT_EQ(parameters_.Pushed(2), FloatsOf({4, 4}));
  // A refresh comes too late now, and an abandon too.
  v1::WorkerCommand late;
  late.mutable_refresh()->set_iteration(1);
  Send(late);
  late.mutable_abandon()->set_iteration(1);
  Send(late);
  std::ranges::fill(program->gradients(0), 8.0f);
  program->SayNumbers(FrameKind::kReady, uint32_t{0}, uint32_t{2});
  parameters_.AwaitHeldPush();
  program->SayDone(1, 1, 32);
  parameters_.AcknowledgePushes();
  EXPECT_EQ(session_->Expect(Kind::kPushDone).push_done().samples(), 32u);
}

// What the coordinator adds before it plans the push goes into the same push,
// as the mean over all samples.
TEST_F(ProgramWorkerTest, AnIterationIsExtended) {
  session_->Assign(ProgramAssignment());
  auto program = Connect();
  program->Attach({{"extends", true}});
  Begin(*program);
  v1::WorkerCommand grant = GrantOf(5, 0, 8);
  grant.mutable_grant()->mutable_plan()->set_ask(true);
  Send(grant);
  TakeStep(*program);
  std::ranges::fill(program->gradients(0), 4.0f);
  std::ranges::fill(program->gradients(2), 1.0f);
  program->SayDone(5, /*loss_sum=*/8, 8);
  auto asks = session_->Expect(Kind::kGradientReady).gradient_ready();
  EXPECT_EQ(asks.samples(), 8u);

  v1::WorkerCommand extend;
  extend.mutable_extend()->set_iteration(5);
  extend.mutable_extend()->mutable_range()->set_begin(40);
  extend.mutable_extend()->mutable_range()->set_end(64);
  Send(extend);
  const auto order = EpochPermutation(7, 0, 1000);
  EXPECT_EQ(SamplesOf(program->Expect(FrameKind::kLot)),
            std::vector<uint32_t>(order.begin() + 40, order.begin() + 64));
  const std::string step = program->Expect(FrameKind::kStep);
  EXPECT_EQ(step[0], 5) << "the same iteration";
  EXPECT_EQ(step[20], 2) << "it goes on, on the weights that are there";
  std::ranges::fill(program->gradients(0), 8.0f);
  std::ranges::fill(program->gradients(2), -1.0f);
  program->SayDone(5, /*loss_sum=*/72, 24);
  asks = session_->Expect(Kind::kGradientReady).gradient_ready();
  EXPECT_EQ(asks.samples(), 32u);

  v1::WorkerCommand plan;
  plan.mutable_plan_push()->set_iteration(5);
  plan.mutable_plan_push()->mutable_plan()->set_round(1);
  Send(plan);
  const auto done = session_->Expect(Kind::kPushDone).push_done();
  EXPECT_EQ(done.samples(), 32u);
  EXPECT_EQ(done.loss(), 2.5);
  EXPECT_EQ(parameters_.Pushed(0), FloatsOf({7, 7, 7, 7, 7, 7}));
  EXPECT_EQ(parameters_.Pushed(2), FloatsOf({-.5, -.5}));

  // Nothing of it is left in the next one.
  Send(GrantOf(6, 64, 96));
  TakeStep(*program);
  std::ranges::fill(program->gradients(0), 0.5f);
  program->SayDone(6, 1, 32);
  EXPECT_EQ(session_->Expect(Kind::kPushDone).push_done().samples(), 32u);
  EXPECT_EQ(parameters_.Pushed(0), FloatsOf({.5, .5, .5, .5, .5, .5}));
}

// The samples may come from the front of what is withdrawn for that.
TEST_F(ProgramWorkerTest, AnExtensionFindsWhatWasWithdrawnDropped) {
  session_->Assign(ProgramAssignment());
  auto program = Connect();
  program->Attach({{"extends", true}, {"lookahead", 32}});
  Begin(*program);
  v1::WorkerCommand grant = GrantOf(1, 0, 8);
  grant.mutable_grant()->mutable_plan()->set_ask(true);
  v1::SampleRange& reserved = *grant.mutable_grant()->add_reserved();
  reserved.set_begin(8);
  reserved.set_end(40);
  Send(grant);
  program->Expect(FrameKind::kLot);
  program->Expect(FrameKind::kLot);
  program->Expect(FrameKind::kStep);
  program->ExpectWeights(3);
  program->SayDone(1, 8, 8);
  session_->Expect(Kind::kGradientReady);
  v1::WorkerCommand drop;
  drop.mutable_drop_reserved();
  Send(drop);
  v1::WorkerCommand extend;
  extend.mutable_extend()->set_iteration(1);
  extend.mutable_extend()->mutable_range()->set_begin(8);
  extend.mutable_extend()->mutable_range()->set_end(12);
  Send(extend);
  program->Expect(FrameKind::kDrop);
  EXPECT_EQ(SamplesOf(program->Expect(FrameKind::kLot)).size(), 4u);
  program->Expect(FrameKind::kStep);
  program->SayDone(1, 4, 4);
  EXPECT_EQ(session_->Expect(Kind::kGradientReady).gradient_ready().samples(),
            12u);
}

TEST_F(ProgramWorkerTest, AProgramThatWaitsBeforeTheAssignmentHasTheJob) {
  auto program = Connect();
  program->SayHello();
  session_->Assign(ProgramAssignment());
  program->ExpectJson(FrameKind::kJob);
}

TEST_F(ProgramWorkerTest, OneAfterTheOtherAndNoSecondOneMeanwhile) {
  auto first = BeginJob();
  auto second = Connect();
  const nlohmann::json refused = second->ExpectJson(FrameKind::kRefused);
  EXPECT_EQ(refused["code"], "ALREADY_EXISTS");
  second->ExpectEnd();
  Send(GrantOf(1, 0, 32));
  TakeStep(*first);
  first->SayDone(1, 1, 32);
  session_->Expect(Kind::kPushDone);
  session_->Stop();
  EXPECT_FALSE(session_->Expect(Kind::kLeaving).leaving().process());
  EXPECT_EQ(first->ExpectJson(FrameKind::kStop)["reason"], "the test says so");
  first->Close();
  session_->Assign(ProgramAssignment(2));
  auto third = Connect();
  third->Attach();
  Begin(*third);
}

// Of a job that failed, or that cannot use what the program attached, the
// program hears as of an error, whether it has begun or not.
TEST_F(ProgramWorkerTest, TheProgramHearsWhyTheCoordinatorWillNotHaveIt) {
  for (const bool begun : {false, true}) {
    session_->Assign(ProgramAssignment());
    auto program = Connect();
    program->Attach();
    if (begun) {
      Begin(*program);
    } else {
      session_->Expect(Kind::kReady);
    }
    session_->Stop(absl::StatusCode::kFailedPrecondition);
    const nlohmann::json refused = program->ExpectJson(FrameKind::kRefused);
    EXPECT_EQ(refused["code"], "FAILED_PRECONDITION");
    EXPECT_EQ(refused["message"], "the test says so");
    program->Close();
    session_->Expect(Kind::kLeaving);
  }
}

TEST_F(ProgramWorkerTest, AStepHasTheRateOfItsGrant) {
  auto program = BeginJob();
  v1::WorkerCommand grant = GrantOf(1, 0, 32);
  grant.mutable_grant()->mutable_plan()->set_round(1);
  grant.mutable_grant()->set_rate(0.125);
  Send(grant);
  program->Expect(FrameKind::kLot);
  const std::string step = program->Expect(FrameKind::kStep);
  double rate = 0;
  memcpy(&rate, step.data() + 24, sizeof(rate));
  EXPECT_EQ(rate, 0.125);
}

// A container is started anew before the agent has looked at the connection of
// the one that died.
TEST_F(ProgramWorkerTest, OneThatIsGoneHoldsNoPlace) {
  auto program = BeginJob();
  program->Close();
  auto next = Connect();
  next->SayHello();
  Send(GrantOf(1, 0, 32));
  EXPECT_THAT(ExpectFailed(absl::StatusCode::kUnavailable).message(),
              HasSubstr("the program closed its connection before its first "
                        "step; its own log says why"));
  session_->Assign(ProgramAssignment());
  next->ExpectJson(FrameKind::kJob);
}

TEST_F(ProgramWorkerTest, ARefreshEndsTheStepEarly) {
  auto program = BeginJob();
  Send(GrantOf(3, 0, 32));
  TakeStep(*program);
  v1::WorkerCommand refresh;
  refresh.mutable_refresh()->set_iteration(3);
  Send(refresh);
  EXPECT_EQ(program->Expect(FrameKind::kRefresh),
            FrameBytes(FrameKind::kLot, std::string("\3\0\0\0\0\0\0\0", 8))
                .substr(8));
  program->SayDone(3, 8, 8);
  const auto done = session_->Expect(Kind::kPushDone).push_done();
  EXPECT_EQ(done.samples(), 8u);
  EXPECT_EQ(done.loss(), 1);
}

TEST_F(ProgramWorkerTest, AnAbandonedStepIsNotPushed) {
  auto program = BeginJob();
  Send(GrantOf(1, 0, 32));
  TakeStep(*program);
  v1::WorkerCommand abandon;
  abandon.mutable_abandon()->set_iteration(1);
  Send(abandon);
  EXPECT_EQ(session_->Expect(Kind::kAbandoned).abandoned().iteration(), 1);
  Send(GrantOf(2, 32, 64));
  program->Expect(FrameKind::kAbandon);
  // The answer that crosses it is as good as `abandoned`.
  program->SayDone(1, 1, 32);
  TakeStep(*program);
  program->SayDone(2, 1, 32);
  EXPECT_EQ(session_->Expect(Kind::kPushDone).push_done().iteration(), 2);
  EXPECT_EQ(parameters_.pushes(), 1);
}

TEST_F(ProgramWorkerTest, AnAbandonEndsTheWaitForWeightsToo) {
  auto program = BeginJob();
  parameters_.HoldPulls();
  Send(GrantOf(1, 0, 32));
  parameters_.AwaitHeldPull();
  v1::WorkerCommand abandon;
  abandon.mutable_abandon()->set_iteration(1);
  Send(abandon);
  parameters_.AnswerPulls();
  session_->Expect(Kind::kAbandoned);
  Send(GrantOf(2, 0, 32));
  program->Expect(FrameKind::kLot);
  program->Expect(FrameKind::kStep);
  program->ExpectWeights(3);
  program->Expect(FrameKind::kAbandon);
  program->SayNumbers(FrameKind::kAbandoned, int64_t{1});
  TakeStep(*program);
}

TEST_F(ProgramWorkerTest, WhatIsNotFiniteIsReportedAndNotPushed) {
  auto program = BeginJob();
  int64_t iteration = 0;
  for (const auto& [loss, flags] :
       {std::pair{1.0, ProgramDone::kNotFinite}, {std::nan(""), 0u}}) {
    Send(GrantOf(++iteration, 0, 32));
    TakeStep(*program);
    program->SayDone(iteration, loss, 8, flags);
    const auto done = session_->Expect(Kind::kPushDone).push_done();
    EXPECT_TRUE(done.discarded());
    EXPECT_EQ(done.samples(), 32u) << "it uses up all of them";
  }
  EXPECT_EQ(parameters_.pushes(), 0);
}

TEST_F(ProgramWorkerTest, ReservedSamplesAreToldBeforeTheirStep) {
  auto program = BeginJob();
  const auto order = EpochPermutation(7, 0, 1000);
  const auto samples = [&order](size_t begin, size_t end) {
    return std::vector<uint32_t>(order.begin() + begin, order.begin() + end);
  };
  v1::WorkerCommand grant = GrantOf(1, 0, 32);
  v1::SampleRange* reserved = grant.mutable_grant()->add_reserved();
  reserved->set_begin(32);
  reserved->set_end(96);
  Send(grant);
  EXPECT_EQ(SamplesOf(program->Expect(FrameKind::kLot)), samples(0, 32));
  EXPECT_EQ(SamplesOf(program->Expect(FrameKind::kLot)), samples(32, 96));
  program->Expect(FrameKind::kStep);
  program->ExpectWeights(3);
  program->SayDone(1, 1, 32);
  session_->Expect(Kind::kPushDone);
  // From the front of what it knows: no lot.
  Send(GrantOf(2, 32, 64));
  program->Expect(FrameKind::kStep);
  program->ExpectWeights(3);
  v1::WorkerCommand drop;
  drop.mutable_drop_reserved();
  Send(drop);
  program->SayDone(2, 1, 32);
  session_->Expect(Kind::kPushDone);
  program->Expect(FrameKind::kDrop);
  Send(GrantOf(3, 64, 96));
  EXPECT_EQ(SamplesOf(program->Expect(FrameKind::kLot)), samples(64, 96));
  program->Expect(FrameKind::kStep);
}

// Its push must not leave before the slow device would have computed it.
TEST_F(ProgramWorkerTest, ASlowerDeviceIsImitatedAfterDone) {
  PaceSpec pace;
  pace.step_time = absl::Milliseconds(20);
  Start(ProgramAgent::Options(), /*evaluator=*/false, pace);
  auto program = BeginJob();
  Send(GrantOf(1, 0, 32));
  program->Expect(FrameKind::kLot);
  EXPECT_EQ(program->Expect(FrameKind::kStep)[20], 0);
  program->ExpectWeights(3);
  program->SayDone(1, 1, 32);
  const auto done = session_->Expect(Kind::kPushDone).push_done();
  EXPECT_GE(done.seconds().compute(), 0.02);
  EXPECT_EQ(parameters_.pushes(), 1);
  Send(GrantOf(2, 32, 64));
  TakeStep(*program);
  program->SayNumbers(FrameKind::kReady, uint32_t{0}, uint32_t{3});
  EXPECT_THAT(
      program->ExpectJson(FrameKind::kRefused)["message"].get<std::string>(),
      HasSubstr("does not overlap"));
}

TEST_F(ProgramWorkerTest, OfAStreamSamplesAreOnlyCounted) {
  v1::Assignment assignment = ProgramAssignment();
  assignment.mutable_job()->set_data("stream");
  session_->Assign(assignment);
  auto program = Connect();
  EXPECT_EQ(program->Attach()["data"], "stream");
  Begin(*program);
  Send(GrantOf(1, 0, 32));
  program->Expect(FrameKind::kStep);
  program->ExpectWeights(3);
  program->SayDone(1, 1, 32);
  session_->Expect(Kind::kPushDone);
}

// What it had in hand the coordinator deals again, and it decides whether the
// worker has the job again.
TEST_F(ProgramWorkerTest, AProgramThatDiesIsToldAndAnotherOneHasTheJob) {
  for (int life = 1; life <= 20; ++life) {
    auto program = BeginJobAndStep();
    Send(GrantOf(2, 32, 64));
    TakeStep(*program);
    // Also with a part of its push on its way.
    if (life % 2 == 0) {
      program->SayNumbers(FrameKind::kReady, uint32_t{2}, uint32_t{3});
    }
    program->Close();
    EXPECT_THAT(ExpectFailed(absl::StatusCode::kUnavailable).message(),
                HasSubstr("closed its connection in step 2"));
  }
  // The last one is counted after it is told.
  EXPECT_GE(worker_->Metric("paceline_worker_assignments_total", "failed"), 19);
}

// The thread that hears of the grant may find that out first.
TEST_F(ProgramWorkerTest, AProgramThatDiesBetweenStepsIsToldToo) {
  for (int life = 1; life <= 20; ++life) {
    auto program = BeginJobAndStep();
    if (life % 2 == 0) program->Close();
    Send(GrantOf(2, 32, 64));
    if (life % 2 != 0) program->Close();
    EXPECT_THAT(ExpectFailed(absl::StatusCode::kUnavailable).message(),
                HasSubstr("closed its connection"));
  }
}

TEST_F(ProgramWorkerTest, WhatTheProgramSaysOfItsFailureIsToldOn) {
  for (int life = 1; life <= ProgramFailures::kInARow; ++life) {
    auto program = BeginJob();
    Send(GrantOf(life, 0, 32));
    TakeStep(*program);
    program->SayJson(FrameKind::kFailed,
                     {{"code", "OUT_OF_RANGE"},
                      {"message", absl::StrCat("IndexError: ", 7 * life)}});
    program->Close();
    // Again and again: so would every further life.
    const auto failed =
        ExpectFailed(life < ProgramFailures::kInARow
                         ? absl::StatusCode::kOutOfRange
                         : absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(failed.message(),
                HasSubstr(absl::StrCat("the program failed in step ", life,
                                       ": IndexError: ", 7 * life)));
  }
}

// The program is told, and so is the coordinator.
TEST_F(ProgramWorkerTest, WhatCannotBeIsRefused) {
  struct Case {
    const char* what;
    std::function<void(PlayedProgram&)> say;
  };
  const Case cases[] = {
      {"no samples of a step", [](auto& p) { p.SayDone(1, 1, 33); }},
      {"too few of it", [](auto& p) { p.SayDone(1, 1, 0); }},
      {"what it has said before",
       [](auto& p) { p.Say(FrameKind::kInitialized); }},
      {"a short struct", [](auto& p) { p.Say(FrameKind::kDone, "x"); }},
      {"no tensors",
       [](auto& p) {
         p.SayNumbers(FrameKind::kReady, uint32_t{3}, uint32_t{4});
       }},
      {"a tensor twice",
       [](auto& p) {
         p.SayNumbers(FrameKind::kReady, uint32_t{0}, uint32_t{1});
         p.SayNumbers(FrameKind::kReady, uint32_t{0}, uint32_t{1});
       }},
      {"done before all are ready",
       [](auto& p) {
         p.SayNumbers(FrameKind::kReady, uint32_t{0}, uint32_t{1});
         p.SayDone(1, 1, 32);
       }},
      {"a frame of the agent", [](auto& p) { p.Say(FrameKind::kStep); }},
      {"a frame that is too long",
       [](auto& p) { p.SayBytes(std::string(8, '\5')); }},
  };
  uint64_t run = 0;
  for (const Case& bad : cases) {
    SCOPED_TRACE(bad.what);
    session_->Assign(ProgramAssignment(++run));
    auto program = Connect();
    program->Attach();
    Begin(*program);
    Send(GrantOf(1, 0, 32));
    TakeStep(*program);
    bad.say(*program);
    program->ExpectJson(FrameKind::kRefused);
    program->Close();
    EXPECT_THAT(ExpectFailed(absl::StatusCode::kInvalidArgument).message(),
                HasSubstr("the program is refused"));
  }
}

TEST_F(ProgramWorkerTest, AModelThatCannotBeTheJobsIsRefused) {
  struct Case {
    nlohmann::json more;
    const char* why;
  };
  const Case cases[] = {
      {{{"optimizer", "adam"}}, "the job's is sgd:momentum=0.9"},
      {{{"optimizer", "radam"}}, "radam"},
      {{{"train_samples", 0}}, "train_samples"},
      {{{"tensors", nlohmann::json::array()}}, "no list of tensors"},
  };
  for (const Case& bad : cases) {
    session_->Assign(ProgramAssignment());
    auto program = Connect();
    program->Attach(bad.more);
    const nlohmann::json refused = program->ExpectJson(FrameKind::kRefused);
    EXPECT_THAT(refused["message"].get<std::string>(), HasSubstr(bad.why));
    program->Close();
    EXPECT_THAT(session_->Expect(Kind::kFailed).failed().message(),
                HasSubstr(bad.why));
  }
}

TEST_F(ProgramWorkerTest, AnotherVersionOfTheProtocolIsRefused) {
  session_->Assign(ProgramAssignment());
  auto program = Connect();
  program->SayHello(/*protocol=*/2);
  EXPECT_EQ(program->ExpectJson(FrameKind::kRefused)["code"],
            "FAILED_PRECONDITION");
  EXPECT_THAT(session_->Expect(Kind::kFailed).failed().message(),
              HasSubstr("speaks version 2"));
}

TEST_F(ProgramWorkerTest, AJobOfAnotherModelIsNone) {
  session_->Assign(AssignmentOf(1));
  EXPECT_THAT(session_->Expect(Kind::kFailed).failed().message(),
              HasSubstr("computes program:mine alone"));
}

TEST_F(ProgramWorkerTest, NobodyConnects) {
  ProgramAgent::Options impatient;
  impatient.connect_timeout = absl::Milliseconds(1);
  Start(impatient);
  // As often as the coordinator asks: no life of a program has failed.
  for (int i = 0; i < 4; ++i) {
    session_->Assign(ProgramAssignment());
    const v1::WorkerMessage message = session_->Expect(Kind::kFailed);
    EXPECT_EQ(message.failed().code(),
              static_cast<int>(absl::StatusCode::kDeadlineExceeded));
    EXPECT_THAT(message.failed().message(),
                AllOf(HasSubstr("no program has connected to"),
                      HasSubstr("PACELINE_PROGRAM")));
  }
}

TEST_F(ProgramWorkerTest, AStopEndsEveryWait) {
  session_->Assign(ProgramAssignment());
  session_->Stop();  // For a program.
  session_->Expect(Kind::kLeaving);
  session_->Assign(ProgramAssignment());
  auto program = Connect();
  program->SayHello();
  program->ExpectJson(FrameKind::kJob);
  session_->Stop();  // For `attach`.
  session_->Expect(Kind::kLeaving);
  program->ExpectJson(FrameKind::kStop);
  program->Close();
  session_->Assign(ProgramAssignment());
  program = Connect();
  program->Attach();
  const auto ready = session_->Expect(Kind::kReady);
  v1::WorkerCommand begin;
  *begin.mutable_begin() = parameters_.Begin(ready.ready(), true);
  session_->Send(std::move(begin));
  program->ExpectJson(FrameKind::kBegin);
  session_->Stop();  // For the starting weights.
  session_->Expect(Kind::kLeaving);
  program->ExpectJson(FrameKind::kStop);
  program->Close();
  program = BeginJob();
  Send(GrantOf(1, 0, 32));
  TakeStep(*program);
  session_->Stop();  // For a step.
  session_->Expect(Kind::kLeaving);
  program->Expect(FrameKind::kAbandon);
  program->ExpectJson(FrameKind::kStop);
  EXPECT_EQ(parameters_.pushes(), 0);
}

// The coordinator says when a worker is stuck: the agent lets go of a program
// that hangs, and takes part again.
TEST_F(ProgramWorkerTest, AProgramThatHangsIsLeftWithItsSession) {
  for (const bool pushing : {false, true}) {
    auto program = BeginJob();
    Send(GrantOf(1, 0, 32));
    TakeStep(*program);
    if (pushing) {
      program->SayNumbers(FrameKind::kReady, uint32_t{2}, uint32_t{3});
    }
    session_->Close(absl::AbortedError("stuck: register anew"));
    session_ = coordinator_.NextSession();
    session_->Register();
  }
}

TEST_F(ProgramWorkerTest, SigtermFinishesTheStep) {
  auto program = BeginJob();
  Send(GrantOf(1, 0, 32));
  TakeStep(*program);
  worker_->Leave();
  program->SayDone(1, 1, 32);
  session_->Expect(Kind::kPushDone);
  EXPECT_TRUE(session_->Expect(Kind::kLeaving).leaving().process());
  program->ExpectJson(FrameKind::kStop);
  program->Close();
  EXPECT_EQ(worker_->AwaitEnd(), absl::OkStatus());
}

TEST_F(ProgramWorkerTest, ASecondSignalDropsIt) {
  auto program = BeginJob();
  Send(GrantOf(1, 0, 32));
  TakeStep(*program);
  worker_->Leave();
  worker_->Drop();
  EXPECT_TRUE(session_->Expect(Kind::kLeaving).leaving().process());
  EXPECT_EQ(worker_->AwaitEnd(), absl::OkStatus());
}

TEST_F(ProgramWorkerTest, AnEvaluatorHasItsOwnFigures) {
  Start(ProgramAgent::Options(), /*evaluator=*/true);
  session_->Assign(ProgramAssignment());
  auto program = Connect();
  EXPECT_EQ(program->Attach()["role"], "evaluator");
  Begin(*program);
  for (const int64_t snapshot : {3, 4}) {
    v1::WorkerCommand evaluate;
    evaluate.mutable_evaluate()->set_snapshot(snapshot);
    evaluate.mutable_evaluate()->set_samples(50);
    Send(evaluate);
    const std::string order = program->Expect(FrameKind::kEvaluate);
    EXPECT_EQ(order[0], snapshot);
    EXPECT_EQ(order[8], 50);
    program->ExpectWeights(3);
    EXPECT_THAT(program->weights(2), Each(3.0f));
    program->SayJson(FrameKind::kEvaluated,
                     {{"snapshot", snapshot},
                      {"metrics", {{"accuracy", 0.5}, {"top5", 0.75}}}});
    const auto evaluated = session_->Expect(Kind::kEvaluated).evaluated();
    EXPECT_EQ(evaluated.snapshot(), snapshot);
    EXPECT_EQ(evaluated.accuracy(), 0.5);
    EXPECT_EQ(evaluated.loss(), 0);
    EXPECT_EQ(evaluated.metrics().at("top5"), 0.75);
  }
}

TEST_F(ProgramWorkerTest, NothingIsLeftOfAHundredLives) {
  const auto live = [this](uint64_t run) {
    session_->Assign(ProgramAssignment(run));
    auto program = Connect();
    program->Attach();
    Begin(*program);
    session_->Stop();
    session_->Expect(Kind::kLeaving);
    program->ExpectJson(FrameKind::kStop);
    parameters_.NextHello();
  };
  live(1);
  const size_t before = OpenDescriptors();
  for (uint64_t run = 2; run < 100; ++run) live(run);
  EXPECT_LE(AwaitDescriptors(before + 3), before + 3);
  const std::string path = agent_->socket();
  worker_.reset();
  agent_.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace paceline
