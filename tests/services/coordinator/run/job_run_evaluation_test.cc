// Snapshots, the evaluator, and the target.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/services/coordinator/run/job_run_testing.h"

namespace paceline {
namespace {

using Kind = FakeWorker::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

// Until the first one of this run, what was measured before a pause counts.
TEST_F(JobRunEvaluationTest, TheLastMeasureStaysUntilTheNext) {
  setup_.before.set_accuracy(0.75);
  (*setup_.before.mutable_metrics())["top5"] = 0.9;
  Push(Start());
  EXPECT_EQ(job_->Progress().accuracy(), 0.75);
  EXPECT_EQ(job_->Progress().metrics().at("top5"), 0.9);
  const v1::Evaluate task = evaluator().Next(Kind::kEvaluate).evaluate();
  EXPECT_TRUE(evaluator().SayEvaluated(task.snapshot(), 0.5).ok());
  EXPECT_EQ(job_->Progress().accuracy(), 0.5);
  EXPECT_FALSE(job_->Progress().metrics().contains("top5"));
}

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
  EXPECT_EQ(evaluator().AwaitStop().reason(), "the job has ended");
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

v1::WorkerMessage Evaluated(int64_t snapshot) {
  v1::WorkerMessage message;
  message.mutable_evaluated()->set_snapshot(snapshot);
  return message;
}

// A language model has no accuracy; and what is infinite is no figure.
TEST_F(JobRunEvaluationTest, AProgramsMetricsAreShownAndCanBeTheTarget) {
  v1::MetricTarget& target = *spec_.mutable_stop()->mutable_target();
  target.set_metric("perplexity");
  target.set_value(20);
  target.set_direction(v1::MetricTarget::AT_MOST);
  Push(Start());
  for (int i = 0; i < 3; ++i) PushNext();
  for (int64_t snapshot = 1; snapshot <= 4; ++snapshot) {
    evaluator().Next(Kind::kEvaluate);
    v1::WorkerMessage message = Evaluated(snapshot);
    auto& metrics = *message.mutable_evaluated()->mutable_metrics();
    metrics["perplexity"] = 30 - 5.0 * static_cast<double>(snapshot);
    metrics["bits"] = INFINITY;
    metrics["loss"] = 3.5;
    EXPECT_TRUE(evaluator().Say(message).ok());
  }
  EXPECT_EQ(evaluator().AwaitStop().reason(), "the job has ended");
  EXPECT_TRUE(Outcome().status.ok());
  const auto run = Report();
  EXPECT_TRUE(run["final_accuracy"].is_null());
  EXPECT_EQ(run["final_metrics"].dump(), R"({"loss":3.5,"perplexity":10.0})");
  EXPECT_EQ(run["accuracy"][1]["metrics"]["perplexity"], 20);
  EXPECT_EQ(run["accuracy"][1]["loss"], 3.5);
  EXPECT_EQ(run["target"], "perplexity<=20");
  EXPECT_EQ(run["seconds_to_target"], 2) << "at 2 s, and after that";
  EXPECT_THAT(Metric("paceline_coordinator_evaluation_metric"),
              ElementsAre(10));
  EXPECT_TRUE(Metric("paceline_coordinator_accuracy_ratio").empty());
  const v1::AccuracyPoint point = History().accuracy.at(0);
  EXPECT_FALSE(point.has_accuracy());
  EXPECT_EQ(point.loss(), 3.5);
  EXPECT_EQ(point.metrics().at("perplexity"), 25);
  EXPECT_EQ(point.metrics().size(), 1u);
}

TEST_F(JobRunEvaluationTest, WhatCannotBeAMetricIsSaid) {
  Push(Start());
  for (int i = 0; i < 3; ++i) PushNext();
  evaluator().Next(Kind::kEvaluate);
  EXPECT_TRUE(evaluator().Say(Evaluated(1)).ok());
  evaluator().Next(Kind::kEvaluate);
  v1::WorkerMessage named = Evaluated(2);
  (*named.mutable_evaluated()->mutable_metrics())["top 5"] = 1;
  EXPECT_TRUE(evaluator().Say(named).ok());
  evaluator().Next(Kind::kEvaluate);
  v1::WorkerMessage many = Evaluated(3);
  for (int i = 0; i < 17; ++i) {
    (*many.mutable_evaluated()->mutable_metrics())[absl::StrCat("m", i)] = 1;
  }
  EXPECT_TRUE(evaluator().Say(many).ok());
  EXPECT_EQ(evaluator().Next(Kind::kEvaluate).evaluate().snapshot(), 4);
  EXPECT_TRUE(evaluator().SayEvaluated(4, 0.5).ok());
  EXPECT_EQ(evaluator().AwaitStop().reason(), "the job has ended");
  EXPECT_TRUE(Outcome().status.ok());
  EXPECT_EQ(Report()["accuracy"].size(), 1u);
  std::string said;
  for (const v1::Decision& decision : History().decisions) {
    absl::StrAppend(&said, decision.text(), "\n");
  }
  EXPECT_THAT(said, HasSubstr("it has measured nothing that is finite"));
  EXPECT_THAT(said, HasSubstr("a metric's name is \"top 5\"; want 1 to 63"));
  EXPECT_THAT(
      said,
      HasSubstr("it has 17 metrics beside accuracy and loss; at most 16"));
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
  const RunOutcome outcome = Outcome();
  EXPECT_TRUE(outcome.status.ok());
  EXPECT_EQ(outcome.ended_early,
            "ended early: two evaluations have reached accuracy>=0.5");
  const auto decisions = History().decisions;
  EXPECT_TRUE(std::any_of(decisions.begin(), decisions.end(),
                          [&outcome](const v1::Decision& decision) {
                            return decision.kind() == "stop" &&
                                   decision.text() == outcome.ended_early;
                          }));
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
