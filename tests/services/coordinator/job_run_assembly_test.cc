// From the registration of the members to the first grants.

#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/services/coordinator/job_run_testing.h"

namespace paceline {
namespace {

using Kind = FakeWorker::Kind;
using ::testing::HasSubstr;

std::string Text(const absl::Status& status) { return status.ToString(); }

TEST_F(JobRunTest, WelcomesWithTheWholeJob) {
  spec_.set_paradigm("dssp:upper=9");
  MakeJob();
  FakeWorker& worker = AddWorker("w0");
  const v1::WorkerWelcome welcome = worker.Next(Kind::kWelcome).welcome();
  EXPECT_NE(welcome.incarnation(), 0u);
  EXPECT_EQ(welcome.job().model(), "logreg");
  EXPECT_EQ(welcome.job().lease_ms(), 10'000u);
  // Every parameter said, whatever was left out.
  EXPECT_THAT(welcome.job().paradigm(),
              HasSubstr("lower=3,upper=9,mode=paper"));
  EXPECT_NE(AddWorker("w1").Next(Kind::kWelcome).welcome().incarnation(),
            welcome.incarnation());
}

TEST_F(JobRunTest, PlacesEveryBlockOnOneServerAndTellsAll) {
  StartTraining();
  const v1::HostJob first = server(0).Await(v1::ServerCommand::kHost).host();
  const v1::HostJob second = server(1).Await(v1::ServerCommand::kHost).host();
  EXPECT_EQ(first.job().model(), "logreg");
  ASSERT_EQ(first.blocks_size() + second.blocks_size(), 2);
  std::set<uint32_t> tensors;
  int64_t size = 0;
  for (const v1::HostJob& host : {first, second}) {
    ASSERT_EQ(host.blocks_size(), 1);
    tensors.insert(host.blocks(0).tensor());
    size += host.blocks(0).size();
    EXPECT_EQ(host.blocks(0).statistic(), host.blocks(0).tensor() == 1);
  }
  EXPECT_EQ(tensors, (std::set<uint32_t>{0, 1}));
  EXPECT_EQ(size, 44);
}

TEST_F(JobRunTest, BeginNamesTheServersWithTheirBlocks) {
  Assemble();
  const v1::BeginJob begin = worker(0).Next(Kind::kBegin).begin();
  ASSERT_EQ(begin.shards_size(), 2);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(begin.shards(i).address(), i == 0 ? "s0:7000" : "s1:7000");
    ASSERT_EQ(begin.shards(i).blocks_size(), 1);
    EXPECT_EQ(begin.shards(i).blocks(0).SerializeAsString(),
              server(i)
                  .Await(v1::ServerCommand::kHost)
                  .host()
                  .blocks(0)
                  .SerializeAsString());
  }
}

TEST_F(JobRunTest, GrantsNothingBeforeTheWeightsAreWritten) {
  Assemble();
  EXPECT_TRUE(worker(0).Next(Kind::kBegin).begin().initialize());
  EXPECT_TRUE(worker(1).HasNothing());
  EXPECT_TRUE(worker(0).SayInitialized().ok());
  EXPECT_FALSE(worker(1).Next(Kind::kBegin).begin().initialize());
  const v1::Grant grant = worker(1).Next(Kind::kGrant).grant();
  EXPECT_EQ(grant.iteration(), 1);
  EXPECT_EQ(grant.closing(), 0);
  EXPECT_TRUE(grant.plan().has_round());
}

TEST_F(JobRunTest, RunsToItsEndAndReportsTheResult) {
  Assemble();
  WorkToTheEnd();
  EXPECT_TRUE(Outcome().ok()) << Outcome();
  const auto results = Reports("result");
  ASSERT_EQ(results.size(), 1u);
  const auto& run = results[0]["run"];
  EXPECT_EQ(run["paradigm"], "bsp");
  EXPECT_EQ(run["samples"], 40);
  EXPECT_EQ(run["pushes"], 4);
  EXPECT_EQ(run["updates"], 2);
  EXPECT_TRUE(run["final_accuracy"].is_null());
  const auto started = Reports("started");
  ASSERT_EQ(started.size(), 1u);
  EXPECT_EQ(started[0]["parameters"], 40);  // Without the statistics.
  EXPECT_EQ(started[0]["train_samples"], 40);
  EXPECT_FALSE(Reports("progress").empty());
  // Both servers got the same closings under the same numbers.
  const auto first = server(0).Commands();
  const auto second = server(1).Commands();
  ASSERT_EQ(first.size(), 3u);
  ASSERT_EQ(second.size(), 3u);
  EXPECT_TRUE(first[0].has_host());
  for (int i = 1; i < 3; ++i) {
    EXPECT_EQ(first[i].close().closing(), i);
    EXPECT_EQ(first[i].SerializeAsString(), second[i].SerializeAsString());
  }
}

TEST_F(JobRunTest, WaitsForTheLastOneFiveMinutesLong) {
  MakeJob();
  AddServer("s0");
  AddServer("s1");
  AddWorker("w0").Enter(SmallModel(40));
  RunJob();
  AwaitReport("progress", "state", "loading");
  clock_.Advance(absl::Minutes(5));
  const absl::Status& outcome = Outcome();
  EXPECT_EQ(outcome.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Text(outcome), HasSubstr("all workers and servers to be ready"));
  EXPECT_THAT(worker(0).AwaitStop(), HasSubstr("the job failed: waited 5m"));
}

TEST_F(JobRunTest, DifferentDataFailTheJob) {
  MakeJob();
  AddServer("s0");
  AddServer("s1");
  AddWorker("w0").Enter(SmallModel(40));
  AddWorker("w1").Enter(SmallModel(41));
  RunJob();
  const absl::Status& outcome = Outcome();
  EXPECT_TRUE(absl::IsFailedPrecondition(outcome));
  EXPECT_THAT(Text(outcome), HasSubstr("w1: the training data has 41 samples, "
                                       "the other workers' 40"));
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_THAT(worker(i).AwaitStop(), HasSubstr("41 samples"));
  }
}

TEST_F(JobRunTest, DifferentModelsFailTheJob) {
  v1::WorkerReady other = SmallModel(40);
  other.mutable_tensors(0)->set_size(41);
  MakeJob();
  AddServer("s0");
  AddServer("s1");
  AddWorker("w0").Enter(SmallModel(40));
  AddWorker("w1").Enter(other);
  RunJob();
  const absl::Status& outcome = Outcome();
  EXPECT_TRUE(absl::IsFailedPrecondition(outcome));
  EXPECT_THAT(Text(outcome), HasSubstr("w1: the model differs"));
}

TEST_F(JobRunTest, AnEvaluatorNeedsTheModelButNotTheTrainingData) {
  spec_.set_evaluator(true);
  spec_.set_workers(1);
  MakeJob();
  AddServer("s0");
  AddServer("s1");
  AddWorker("w0").Enter(SmallModel(40));
  v1::WorkerReady evaluator = SmallModel(0);
  evaluator.mutable_tensors(1)->set_name("another");
  AddWorker("e0", /*evaluator=*/true).Enter(evaluator);
  RunJob();
  EXPECT_THAT(Text(Outcome()), HasSubstr("e0: the model differs"));
}

TEST_F(JobRunTest, EmptyDataFailTheJob) {
  MakeJob();
  AddServer("s0");
  AddServer("s1");
  AddWorker("w0").Enter(SmallModel(0));
  AddWorker("w1").Enter(SmallModel(0));
  RunJob();
  EXPECT_TRUE(absl::IsInvalidArgument(Outcome()));
}

TEST_F(JobRunTest, TheNextWorkerWritesTheWeightsWhenTheFirstIsLost) {
  Assemble();
  EXPECT_TRUE(worker(0).Next(Kind::kBegin).begin().initialize());
  worker(0).Break();
  EXPECT_TRUE(worker(1).Next(Kind::kBegin).begin().initialize());
  EXPECT_TRUE(worker(1).SayInitialized().ok());
  // It is not told to begin twice.
  EXPECT_EQ(worker(1).Next(Kind::kGrant).grant().iteration(), 1);
}

TEST_F(JobRunTest, TheNextWorkerWritesTheWeightsWhenTheFirstIsSilent) {
  Assemble();
  EXPECT_TRUE(worker(0).Next(Kind::kBegin).begin().initialize());
  for (int i = 0; i < 2; ++i) {
    clock_.Advance(absl::Seconds(6));  // Of a lease of ten.
    EXPECT_TRUE(worker(1).SayHeartbeat().ok());
    EXPECT_TRUE(server(0).SayHeartbeat().ok());
    EXPECT_TRUE(server(1).SayHeartbeat().ok());
  }
  EXPECT_TRUE(absl::IsAborted(worker(0).AwaitClosed()));
  EXPECT_TRUE(worker(1).Next(Kind::kBegin).begin().initialize());
}

// It would train another model, or on other data, unseen.
TEST_F(JobRunTest, OneThatComesWhileTheWeightsAreWrittenMustAgreeToo) {
  Assemble();
  worker(0).Next(Kind::kBegin);
  FakeWorker& late = AddWorker("w2");
  late.Next(Kind::kWelcome);
  EXPECT_TRUE(absl::IsFailedPrecondition(late.SayReady(SmallModel(41))));
  late.Break();  // What its stream does of such an answer.
  FakeWorker& good = AddWorker("w3");
  good.Enter(SmallModel(40));
  EXPECT_TRUE(worker(0).SayInitialized().ok());
  EXPECT_FALSE(good.Next(Kind::kBegin).begin().initialize());
  good.Next(Kind::kGrant);
  EXPECT_TRUE(late.HasNothing());
}

TEST_F(JobRunTest, AServerTooManyIsRefused) {
  MakeJob();
  AddServer("s0");
  AddServer("s1");
  const FakeServer third(job_.get(), "s2");
  EXPECT_TRUE(absl::IsFailedPrecondition(third.registered()));
}

}  // namespace
}  // namespace paceline
