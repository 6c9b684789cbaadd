// From the registration of the members to the first grants.

#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/services/coordinator/run/job_run_testing.h"

namespace paceline {
namespace {

using Kind = FakeWorker::Kind;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Text(const absl::Status& status) { return status.ToString(); }

TEST_F(JobRunTest, AssignsTheWholeJob) {
  spec_.set_paradigm("dssp:lower=3,upper=9,mode=paper");
  setup_.run = 6;
  MakeJob();
  FakeWorker& worker = AddWorker("w0");
  const v1::Assignment assign = worker.Next(Kind::kAssign).assign();
  EXPECT_NE(assign.incarnation(), 0u);
  EXPECT_EQ(assign.run(), 7u);
  EXPECT_EQ(assign.job_name(), "namespaces/test/jobs/small");
  EXPECT_EQ(assign.lease_ms(), 10'000u);
  EXPECT_EQ(assign.job().SerializeAsString(),
            setup_.plan.spec.SerializeAsString());
  EXPECT_NE(AddWorker("w1").Next(Kind::kAssign).assign().incarnation(),
            assign.incarnation());
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
  EXPECT_TRUE(Outcome().status.ok()) << Outcome().status;
  EXPECT_FALSE(Outcome().paused);
  EXPECT_EQ(Outcome().checkpoint, "");
  const auto run = Report();
  EXPECT_EQ(run["paradigm"], "bsp");
  EXPECT_EQ(run["samples"], 40);
  EXPECT_EQ(run["pushes"], 4);
  EXPECT_EQ(run["updates"], 2);
  EXPECT_TRUE(run["final_accuracy"].is_null());
  const RunHistory history = History();
  ASSERT_EQ(history.started.size(), 1u);
  EXPECT_EQ(history.started[0].first, 40);  // Without the statistics.
  EXPECT_EQ(history.started[0].second, 40);
  EXPECT_FALSE(history.progress.empty());
  EXPECT_THAT(history.checkpoints, IsEmpty());
  // Both servers got the same closings under the same numbers.
  const auto first = server(0).Commands();
  const auto second = server(1).Commands();
  ASSERT_EQ(first.size(), 4u);
  ASSERT_EQ(second.size(), 4u);
  EXPECT_TRUE(first[0].has_host());
  for (int i = 1; i < 3; ++i) {
    EXPECT_EQ(first[i].close().closing(), i);
    EXPECT_EQ(first[i].SerializeAsString(), second[i].SerializeAsString());
    EXPECT_EQ(first[i].run(), job_->run());
  }
  EXPECT_EQ(first[3].unhost().reason(), "the job has ended");
  EXPECT_EQ(first[3].sequence(), 0u);
}

TEST_F(JobRunTest, WaitsForWhoLoadsAnHourLong) {
  MakeJob();
  AddWorker("w0").Enter(SmallModel(40));
  AddWorker("w1");
  RunJob();
  AwaitPhase("loading");
  for (int i = 0; i < 400; ++i) {
    clock_.Advance(absl::Seconds(9));
    EXPECT_TRUE(worker(0).SayHeartbeat().ok());
    EXPECT_TRUE(worker(1).SayHeartbeat().ok());
  }
  const absl::Status& outcome = Outcome().status;
  EXPECT_EQ(outcome.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Text(outcome), HasSubstr("the job's workers to be ready"));
  EXPECT_THAT(worker(0).AwaitStop(), HasSubstr("the job failed: waited 1h"));
}

TEST_F(JobRunTest, DoesNotWaitForWhoHasGone) {
  MakeJob();
  AddWorker("w0").Enter(SmallModel(40));
  AddWorker("w1");
  RunJob();
  AwaitPhase("loading");
  worker(1).Break();
  const RunOutcome& outcome = OutcomeInTime(/*heard=*/0);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_TRUE(outcome.out_of_workers);
}

TEST_F(JobRunTest, AServerThatLeavesBeforeTheTrainingCostsNothing) {
  MakeJob();
  AddWorker("w0").Enter(SmallModel(40));
  AddWorker("w1");
  RunJob();
  AwaitPhase("loading");
  job_->OnServerLeaving(99);  // Is nothing to the job.
  job_->OnServerLeaving(100);
  job_->OnServerDisconnected(100);
  const RunOutcome& outcome = Outcome();
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_TRUE(outcome.paused);
  EXPECT_TRUE(outcome.out_of_servers);
}

// One that dies may do so of this very job: it would die of it again.
TEST_F(JobRunTest, AServerThatDiesBeforeTheTrainingFailsTheJob) {
  MakeJob();
  AddWorker("w0").Enter(SmallModel(40));
  AddWorker("w1");
  RunJob();
  AwaitPhase("loading");
  job_->OnServerLeaving(101);
  job_->OnServerDisconnected(100);
  EXPECT_TRUE(absl::IsUnavailable(Outcome().status)) << Outcome().status;
  EXPECT_FALSE(Outcome().paused);
}

TEST_F(JobRunTest, DifferentDataFailTheJob) {
  MakeJob();
  AddWorker("w0").Enter(SmallModel(40));
  AddWorker("w1").Enter(SmallModel(41));
  RunJob();
  const absl::Status& outcome = Outcome().status;
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
  AddWorker("w0").Enter(SmallModel(40));
  AddWorker("w1").Enter(other);
  RunJob();
  const absl::Status& outcome = Outcome().status;
  EXPECT_TRUE(absl::IsFailedPrecondition(outcome));
  EXPECT_THAT(Text(outcome), HasSubstr("w1: the model differs"));
}

TEST_F(JobRunTest, AnEvaluatorNeedsTheModelButNotTheTrainingData) {
  spec_.mutable_evaluation()->clear_disabled();
  spec_.mutable_workers()->set_min(1);
  MakeJob();
  AddWorker("w0").Enter(SmallModel(40));
  v1::WorkerReady evaluator = SmallModel(0);
  evaluator.mutable_tensors(1)->set_name("another");
  AddWorker("e0", /*evaluator=*/true).Enter(evaluator);
  RunJob();
  EXPECT_THAT(Text(Outcome().status), HasSubstr("e0: the model differs"));
}

TEST_F(JobRunTest, EmptyDataFailTheJob) {
  MakeJob();
  AddWorker("w0").Enter(SmallModel(0));
  AddWorker("w1").Enter(SmallModel(0));
  RunJob();
  EXPECT_TRUE(absl::IsInvalidArgument(Outcome().status));
}

// The coordinator must not fall over it, nor fill its memory with blocks.
TEST_F(JobRunTest, AnImpossibleModelFailsTheJob) {
  v1::WorkerReady model = SmallModel(40);
  model.mutable_tensors(0)->set_size(-40);
  MakeJob();
  AddWorker("w0").Enter(model);
  AddWorker("w1").Enter(model);
  RunJob();
  const absl::Status& outcome = Outcome().status;
  EXPECT_TRUE(absl::IsInvalidArgument(outcome));
  EXPECT_THAT(Text(outcome), HasSubstr("\"dense.weight\" has -40 elements"));
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
  }
  EXPECT_TRUE(absl::IsAborted(worker(0).AwaitClosed()));
  EXPECT_TRUE(worker(1).Next(Kind::kBegin).begin().initialize());
}

// It would train another model, or on other data, unseen.
TEST_F(JobRunTest, OneThatComesWhileTheWeightsAreWrittenMustAgreeToo) {
  Assemble();
  worker(0).Next(Kind::kBegin);
  FakeWorker& late = AddWorker("w2");
  late.Next(Kind::kAssign);
  EXPECT_TRUE(absl::IsFailedPrecondition(late.SayReady(SmallModel(41))));
  late.Break();  // What its stream does of such an answer.
  FakeWorker& good = AddWorker("w3");
  good.Enter(SmallModel(40));
  EXPECT_TRUE(worker(0).SayInitialized().ok());
  EXPECT_FALSE(good.Next(Kind::kBegin).begin().initialize());
  good.Next(Kind::kGrant);
  EXPECT_TRUE(late.HasNothing());
}

TEST_F(JobRunTest, OnlyItsOwnServersAreHeard) {
  MakeJob();
  v1::ServerMessage done;
  done.mutable_done()->set_sequence(1);
  EXPECT_TRUE(job_->OnServerMessage(100, done).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(job_->OnServerMessage(99, done)));
  EXPECT_TRUE(absl::IsInvalidArgument(job_->OnServerMessage(100, {})));
  EXPECT_TRUE(job_->UsesServer(101));
  EXPECT_FALSE(job_->UsesServer(102));
  job_->OnServerDisconnected(99);  // Is nothing to the job.
  AddWorker("w0").Enter(SmallModel(40));
  AddWorker("w1").Enter(SmallModel(40));
  RunJob();
  WorkToTheEnd();
  EXPECT_TRUE(Outcome().status.ok());
}

// Nobody waits for an evaluator before the training.
TEST_F(JobRunTest, BeginsWithoutAnEvaluator) {
  spec_.mutable_evaluation()->clear_disabled();
  StartTraining();
}

TEST_F(JobRunTest, MoreThanTheQuotaOfParametersIsRefused) {
  int64_t asked = 0;
  setup_.admit_parameters = [&](int64_t bytes) {
    asked = bytes;
    return absl::ResourceExhaustedError("the namespace may have 100 bytes");
  };
  Assemble();
  EXPECT_EQ(Outcome().status,
            absl::ResourceExhaustedError("the namespace may have 100 bytes"));
  EXPECT_EQ(asked, 44 * 4);
  EXPECT_EQ(job_->BytesPerServer(), 22 * 4);
  for (const v1::ServerCommand& command : server(0).Commands()) {
    EXPECT_FALSE(command.has_host());
  }
}

}  // namespace
}  // namespace paceline
