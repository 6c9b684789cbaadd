// Snapshots, the evaluator, and the target.

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

TEST_F(JobRunEvaluationTest, WantsAnEvaluatorWhileSnapshotsWait) {
  const v1::Grant first = Start();
  EXPECT_FALSE(job_->WantsEvaluator());
  Push(first);
  EXPECT_TRUE(job_->WantsEvaluator());
  evaluator().Next(Kind::kEvaluate);
  EXPECT_TRUE(evaluator().SayEvaluated(1, 0.5).ok());
  EXPECT_FALSE(job_->WantsEvaluator());
}

// Else the job would wait for what no server has, or nobody can evaluate.
TEST_F(JobRunEvaluationTest, WhyOneIsNotEvaluatedIsTold) {
  const v1::Grant first = Start();
  server(1).RefuseSnapshots(absl::ResourceExhaustedError("no room"));
  Push(first);
  EXPECT_EQ(evaluator().Next(Kind::kEvaluate).evaluate().snapshot(), 1);
  AwaitDecision("snapshot 1 is not evaluated: s1: no room");
  EXPECT_EQ(History().decisions.back().kind(), "evaluation");
  server(1).RefuseSnapshots(absl::OkStatus());
  PushNext();
  EXPECT_EQ(evaluator().Next(Kind::kEvaluate).evaluate().snapshot(), 2);
  EXPECT_TRUE(
      evaluator().SayNotEvaluated(2, absl::NotFoundError("not held")).ok());
  AwaitDecision("snapshot 2 is not evaluated: e0: not held");
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

}  // namespace
}  // namespace paceline
