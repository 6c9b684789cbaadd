// Snapshots, the evaluator, and the target.

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/services/coordinator/run/job_run_testing.h"

namespace paceline {
namespace {

using Kind = FakeWorker::Kind;
using ::testing::ElementsAre;

// One worker, one evaluator, a snapshot after each push of ten samples.
class JobRunEvaluationTest : public JobRunTest {
 protected:
  JobRunEvaluationTest() {
    spec_.set_paradigm("asp");
    spec_.mutable_workers()->set_min(1);
    spec_.mutable_evaluation()->clear_disabled();
    spec_.mutable_evaluation()->set_every(10);
  }

  FakeWorker& trainer() { return worker(0); }
  FakeWorker& evaluator() { return worker(1); }

  // Up to the trainer's first grant.
  v1::Grant Start() {
    MakeJob();
    AddWorker("w0").Enter(SmallModel(40));
    AddWorker("e0", /*evaluator=*/true).Enter(SmallModel(0));
    RunJob();
    EXPECT_TRUE(trainer().Next(Kind::kBegin).begin().initialize());
    EXPECT_TRUE(trainer().SayInitialized().ok());
    EXPECT_FALSE(evaluator().Next(Kind::kBegin).begin().initialize());
    return trainer().Next(Kind::kGrant).grant();
  }
  // A second of training, then the push.
  void Push(const v1::Grant& grant) {
    clock_.Advance(absl::Seconds(1));
    EXPECT_TRUE(trainer().SayPushed(grant).ok());
  }
  void PushNext() { Push(trainer().Next(Kind::kGrant).grant()); }

  std::vector<int64_t> ReleasedAt(size_t i) {
    std::vector<int64_t> released;
    for (const v1::ServerCommand& command : server(i).Commands()) {
      if (!command.has_release_snapshot()) continue;
      released.push_back(command.release_snapshot().snapshot());
    }
    return released;
  }
};

TEST_F(JobRunEvaluationTest, EverySnapshotIsEvaluatedAndReleased) {
  spec_.mutable_stop()->set_target_accuracy(0.5);
  Push(Start());
  for (int i = 0; i < 3; ++i) PushNext();
  for (int64_t snapshot = 1; snapshot <= 4; ++snapshot) {
    const v1::Evaluate task = evaluator().Next(Kind::kEvaluate).evaluate();
    EXPECT_EQ(task.snapshot(), snapshot);
    EXPECT_EQ(task.samples(), 0u);  // The whole test set.
    EXPECT_TRUE(evaluator()
                    .SayEvaluated(snapshot, 0.2 * static_cast<double>(snapshot))
                    .ok());
  }
  EXPECT_EQ(evaluator().AwaitStop(), "the job has ended");
  EXPECT_TRUE(Outcome().status.ok());
  const auto run = Report();
  ASSERT_EQ(run["accuracy"].size(), 4u);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(run["accuracy"][i]["seconds"], i + 1);
    EXPECT_EQ(run["accuracy"][i]["version"], i + 1);
    EXPECT_EQ(run["accuracy"][i]["samples"], 10 * (i + 1));
  }
  EXPECT_EQ(run["final_accuracy"], 0.8);
  // The last of them too, though nothing else is told afterwards.
  EXPECT_THAT(Metric("paceline_coordinator_accuracy_ratio"), ElementsAre(0.8));
  // 0.4 at 2 s, 0.6 at 3 s.
  EXPECT_NEAR(run["seconds_to_target"].get<double>(), 2.5, 1e-9);
  EXPECT_EQ(History().accuracy.size(), 4u);
  EXPECT_THAT(ReleasedAt(0), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(ReleasedAt(1), ElementsAre(1, 2, 3, 4));
}

TEST_F(JobRunEvaluationTest, DeferredEvaluationComesAfterTheTraining) {
  spec_.mutable_evaluation()->set_defer(true);
  Push(Start());
  PushNext();
  PushNext();
  EXPECT_TRUE(evaluator().HasNothing());
  PushNext();
  for (int64_t snapshot = 1; snapshot <= 4; ++snapshot) {
    EXPECT_EQ(evaluator().Next(Kind::kEvaluate).evaluate().snapshot(),
              snapshot);
    EXPECT_TRUE(evaluator().SayEvaluated(snapshot, 0.5).ok());
  }
  EXPECT_TRUE(Outcome().status.ok());
}

TEST_F(JobRunEvaluationTest, TheTargetEndsTheTraining) {
  spec_.mutable_stop()->set_target_accuracy(0.5);
  spec_.mutable_stop()->set_at_target(true);
  Push(Start());
  PushNext();
  const v1::Grant third = trainer().Next(Kind::kGrant).grant();
  for (int64_t snapshot = 1; snapshot <= 2; ++snapshot) {
    const v1::Evaluate task = evaluator().Next(Kind::kEvaluate).evaluate();
    EXPECT_EQ(task.samples(), 1000u);  // A subset while others train.
    EXPECT_TRUE(evaluator().SayEvaluated(snapshot, 0.9).ok());
  }
  Push(third);
  const v1::Evaluate last = evaluator().Next(Kind::kEvaluate).evaluate();
  EXPECT_EQ(last.samples(), 0u);
  EXPECT_TRUE(evaluator().SayEvaluated(last.snapshot(), 0.95).ok());
  EXPECT_TRUE(Outcome().status.ok());
  const auto run = Report();
  EXPECT_EQ(run["samples"], 30);
  EXPECT_EQ(run["seconds_to_target"], 1);
  EXPECT_EQ(run["final_accuracy"], 0.95);
}

TEST_F(JobRunEvaluationTest, AnotherEvaluatorTakesOver) {
  Push(Start());
  evaluator().Next(Kind::kEvaluate);
  evaluator().Break();
  FakeWorker& second = AddWorker("e1", /*evaluator=*/true);
  second.Enter(SmallModel(0));
  second.Next(Kind::kBegin);
  EXPECT_EQ(second.Next(Kind::kEvaluate).evaluate().snapshot(), 1);
  EXPECT_TRUE(second.SayEvaluated(1, 0.5).ok());
  for (int i = 0; i < 3; ++i) PushNext();
  for (int64_t snapshot = 2; snapshot <= 4; ++snapshot) {
    EXPECT_EQ(second.Next(Kind::kEvaluate).evaluate().snapshot(), snapshot);
    EXPECT_TRUE(second.SayEvaluated(snapshot, 0.5).ok());
  }
  EXPECT_TRUE(Outcome().status.ok());
}

// Two may come at once; the second waits until the first has gone.
TEST_F(JobRunEvaluationTest, ASpareEvaluatorTakesOver) {
  const v1::Grant first = Start();
  FakeWorker& spare = AddWorker("e1", /*evaluator=*/true);
  spare.Enter(SmallModel(0));
  spare.Next(Kind::kBegin);
  Push(first);
  EXPECT_EQ(evaluator().Next(Kind::kEvaluate).evaluate().snapshot(), 1);
  EXPECT_TRUE(spare.HasNothing());
  EXPECT_TRUE(evaluator().SayEvaluated(1, 0.5).ok());
  PushNext();
  evaluator().Next(Kind::kEvaluate);
  evaluator().Break();
  EXPECT_EQ(spare.Next(Kind::kEvaluate).evaluate().snapshot(), 2);
  EXPECT_TRUE(spare.SayEvaluated(2, 0.5).ok());
}

// It must not be given a task before it has said that it is ready.
TEST_F(JobRunEvaluationTest, AnEvaluatorThatStillLoadsIsNotAsked) {
  MakeJob();
  AddWorker("w0").Enter(SmallModel(40));
  AddWorker("e0", /*evaluator=*/true).Enter(SmallModel(0));
  FakeWorker& loading = AddWorker("e1", /*evaluator=*/true);
  loading.Next(Kind::kAssign);
  RunJob();
  trainer().Next(Kind::kBegin);
  EXPECT_TRUE(trainer().SayInitialized().ok());
  PushNext();
  evaluator().Next(Kind::kBegin);
  EXPECT_EQ(evaluator().Next(Kind::kEvaluate).evaluate().snapshot(), 1);
  EXPECT_TRUE(evaluator().SayEvaluated(1, 0.5).ok());
  EXPECT_TRUE(loading.HasNothing());
}

TEST_F(JobRunEvaluationTest, TheLossTargetEndsTheTraining) {
  spec_.mutable_stop()->set_target_loss(0.3);
  spec_.mutable_stop()->set_at_target(true);
  Push(Start());
  PushNext();
  const v1::Grant third = trainer().Next(Kind::kGrant).grant();
  for (int64_t snapshot = 1; snapshot <= 2; ++snapshot) {
    EXPECT_EQ(evaluator().Next(Kind::kEvaluate).evaluate().snapshot(),
              snapshot);
    EXPECT_TRUE(evaluator().SayEvaluated(snapshot, 0.1, /*loss=*/0.3).ok());
  }
  Push(third);
  const v1::Evaluate last = evaluator().Next(Kind::kEvaluate).evaluate();
  EXPECT_TRUE(evaluator().SayEvaluated(last.snapshot(), 0.1, 0.2).ok());
  EXPECT_TRUE(Outcome().status.ok());
  EXPECT_EQ(Report()["samples"], 30);
}

TEST_F(JobRunEvaluationTest, WantsAnEvaluatorWhileSnapshotsWait) {
  const v1::Grant first = Start();
  EXPECT_FALSE(job_->WantsEvaluator());
  Push(first);
  EXPECT_TRUE(job_->WantsEvaluator());
  evaluator().Next(Kind::kEvaluate);
  EXPECT_TRUE(evaluator().SayEvaluated(1, 0.5).ok());
  EXPECT_FALSE(job_->WantsEvaluator());
}

// The coordinator takes it to another job: it is told to stop, and leaves.
TEST_F(JobRunEvaluationTest, AnEvaluatorIsReleasedAndComesBack) {
  Push(Start());
  evaluator().Next(Kind::kEvaluate);
  job_->ReleaseWorker(evaluator().id(), "another job waits");
  EXPECT_EQ(evaluator().AwaitStop(), "another job waits");
  EXPECT_TRUE(evaluator().SayLeaving().ok());
  EXPECT_TRUE(evaluator().IsGone());
  EXPECT_TRUE(job_->WantsEvaluator());
  for (int i = 0; i < 3; ++i) PushNext();
  FakeWorker& again = AddWorker("e0", /*evaluator=*/true);
  again.Enter(SmallModel(0));
  again.Next(Kind::kBegin);
  for (int64_t snapshot = 1; snapshot <= 4; ++snapshot) {
    EXPECT_EQ(again.Next(Kind::kEvaluate).evaluate().snapshot(), snapshot);
    EXPECT_TRUE(again.SayEvaluated(snapshot, 0.5).ok());
  }
  EXPECT_TRUE(Outcome().status.ok());
  EXPECT_EQ(Report()["accuracy"].size(), 4u);
}

// Else the job would wait for a snapshot that no server has.
TEST_F(JobRunEvaluationTest, ARefusedSnapshotIsDroppedWithADecision) {
  spec_.mutable_evaluation()->set_defer(true);
  const v1::Grant first = Start();
  server(1).RefuseSnapshots(absl::ResourceExhaustedError("no room"));
  Push(first);
  AwaitDecision("snapshot 1 is not evaluated: s1: no room");
  EXPECT_EQ(History().decisions.back().kind(), "evaluation");
  server(1).RefuseSnapshots(absl::OkStatus());
  for (int i = 0; i < 3; ++i) PushNext();
  // From the second on every second one, and the last.
  for (const int64_t snapshot : {2, 4}) {
    EXPECT_EQ(evaluator().Next(Kind::kEvaluate).evaluate().snapshot(),
              snapshot);
    EXPECT_TRUE(evaluator().SayEvaluated(snapshot, 0.5).ok());
  }
  EXPECT_TRUE(Outcome().status.ok()) << Outcome().status;
  EXPECT_EQ(Report()["accuracy"].size(), 2u);
  // The other server holds what the first has refused.
  EXPECT_THAT(ReleasedAt(0), ElementsAre(1, 2, 4));
}

TEST_F(JobRunEvaluationTest, AnEvaluatorMayGiveASnapshotUp) {
  Push(Start());
  for (int i = 0; i < 3; ++i) PushNext();
  evaluator().Next(Kind::kEvaluate);
  EXPECT_TRUE(
      evaluator().SayNotEvaluated(1, absl::NotFoundError("not held")).ok());
  AwaitDecision("snapshot 1 is not evaluated: e0: not held");
  EXPECT_TRUE(evaluator().SayNotEvaluated(1, absl::NotFoundError("again")).ok())
      << "it was dropped meanwhile: no fault of the evaluator's";
  for (int64_t snapshot = 2; snapshot <= 4; ++snapshot) {
    EXPECT_EQ(evaluator().Next(Kind::kEvaluate).evaluate().snapshot(),
              snapshot);
    EXPECT_TRUE(evaluator().SayEvaluated(snapshot, 0.5).ok());
  }
  EXPECT_TRUE(Outcome().status.ok());
  EXPECT_EQ(Report()["accuracy"].size(), 3u);
}

TEST_F(JobRunEvaluationTest, WithoutAnEvaluatorTheResultIsNotMadeUp) {
  Push(Start());
  evaluator().Next(Kind::kEvaluate);
  EXPECT_TRUE(evaluator().SayEvaluated(1, 0.5).ok());
  for (int i = 0; i < 3; ++i) PushNext();
  AwaitPhase("evaluating");
  evaluator().Break();
  evaluator_exists_ = false;
  clock_.Advance(absl::Seconds(31));  // More than three leases.
  // The training itself is no worse for it.
  EXPECT_TRUE(Outcome().status.ok());
  AwaitDecision("3 snapshots are not evaluated: no evaluator is connected");
  EXPECT_EQ(History().decisions.back().kind(), "evaluation");
  EXPECT_EQ(Report()["accuracy"].size(), 1u);
}

// Its heartbeats may go on while its computation does not.
TEST_F(JobRunEvaluationTest, AnEvaluatorThatHangsIsLetGo) {
  setup_.lease = absl::Hours(10);
  Push(Start());
  evaluator().Next(Kind::kEvaluate);
  clock_.Advance(absl::Minutes(29));
  EXPECT_TRUE(evaluator().HasNothing());
  clock_.Advance(absl::Minutes(2));
  EXPECT_TRUE(absl::IsAborted(evaluator().AwaitClosed()));
  AwaitDecision("snapshot 1 is not evaluated: e0: no result after 30m");
  FakeWorker& second = AddWorker("e1", /*evaluator=*/true);
  second.Enter(SmallModel(0));
  second.Next(Kind::kBegin);
  for (int i = 0; i < 3; ++i) PushNext();
  for (int64_t snapshot = 2; snapshot <= 4; ++snapshot) {
    EXPECT_EQ(second.Next(Kind::kEvaluate).evaluate().snapshot(), snapshot);
    EXPECT_TRUE(second.SayEvaluated(snapshot, 0.5).ok());
  }
  EXPECT_TRUE(Outcome().status.ok());
}

// Who pauses a job, or stops the coordinator, does not wait for a long curve.
TEST_F(JobRunEvaluationTest, APausedJobEvaluatesForThreeLeasesMore) {
  Push(Start());
  PushNext();
  job_->Pause(absl::Seconds(30));
  AwaitDecision("nothing more is dealt");
  PushNext();
  AwaitPhase("evaluating");
  evaluator().Next(Kind::kEvaluate);
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(evaluator().SayHeartbeat().ok());
    clock_.Advance(absl::Seconds(8));
  }
  AwaitDecision("3 snapshots are not evaluated: the job is paused");
  EXPECT_TRUE(Outcome().paused);
}

// The result is there, and saved where results are.
TEST_F(JobRunEvaluationTest, AServerThatGoesCostsWhatWasNotEvaluated) {
  Push(Start());
  for (int i = 0; i < 3; ++i) PushNext();
  AwaitPhase("evaluating");
  job_->OnServerDisconnected(server(1).member());
  AwaitDecision("4 snapshots are not evaluated: parameter server s1 is gone");
  EXPECT_TRUE(Outcome().status.ok()) << Outcome().status;
  EXPECT_FALSE(Outcome().paused);
}

TEST_F(JobRunEvaluationTest, ASnapshotThatNoEvaluatorSurvivesIsDropped) {
  Push(Start());
  evaluator().Next(Kind::kEvaluate);
  evaluator().Break();
  for (const char* name : {"e1", "e2"}) {
    FakeWorker& next = AddWorker(name, /*evaluator=*/true);
    next.Enter(SmallModel(0));
    next.Next(Kind::kBegin);
    next.Next(Kind::kEvaluate);
    next.Break();
  }
  AwaitDecision("snapshot 1 is not evaluated: e2: no evaluator survives it");
}

// A job that has reached its limit is not to be taken up again.
TEST_F(JobRunEvaluationTest, PausedAfterItsTimeItHasEnded) {
  spec_.mutable_stop()->set_seconds(2);
  Push(Start());
  PushNext();
  AwaitDecision("nothing more is dealt");
  PushNext();
  AwaitPhase("evaluating");
  job_->Pause(absl::ZeroDuration());
  AwaitDecision("3 snapshots are not evaluated: the job is paused");
  EXPECT_TRUE(Outcome().status.ok());
  EXPECT_FALSE(Outcome().paused);
}

// One that is busy with another job may still come.
TEST_F(JobRunEvaluationTest, AnEvaluatorElsewhereIsWaitedFor) {
  Push(Start());
  for (int i = 0; i < 3; ++i) PushNext();
  AwaitPhase("evaluating");
  evaluator().Break();
  for (int i = 0; i < 10; ++i) clock_.Advance(absl::Seconds(31));
  FakeWorker& late = AddWorker("e1", /*evaluator=*/true);
  late.Enter(SmallModel(0));
  late.Next(Kind::kBegin);
  for (int64_t snapshot = 1; snapshot <= 4; ++snapshot) {
    late.Next(Kind::kEvaluate);
    EXPECT_TRUE(late.SayEvaluated(snapshot, 0.5).ok());
  }
  EXPECT_TRUE(Outcome().status.ok());
  EXPECT_EQ(Report()["accuracy"].size(), 4u);
}

}  // namespace
}  // namespace paceline
