// What a run says to its members and servers, and what it takes from them. What
// it goes through is in tests/testdata/course/.

#include <cstdint>
#include <thread>
#include <vector>

#include "common/job/batched_paradigm.h"
#include "gmock/gmock.h"
#include "tests/services/coordinator/run/job_run_testing.h"

namespace paceline {
namespace {

using Kind = FakeWorker::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(JobRunTest, AssignsTheWholeJob) {
  spec_.set_paradigm("dssp:lower=3,upper=9,mode=printed");
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
  EXPECT_TRUE(Report().is_null());
  EXPECT_THAT(History().started, IsEmpty());
}

TEST_F(JobRunTest, TellsServersAndWorkersWhereTheBlocksLie) {
  Assemble();
  const v1::BeginJob begin = worker(0).Next(Kind::kBegin).begin();
  EXPECT_TRUE(begin.initialize());
  ASSERT_EQ(begin.shards_size(), 2);
  std::vector<uint32_t> tensors;
  int64_t size = 0;
  for (int i = 0; i < 2; ++i) {
    const v1::HostJob host = server(i).Await(v1::ServerCommand::kHost).host();
    EXPECT_EQ(host.job().model(), "logreg");
    ASSERT_EQ(host.blocks_size(), 1);
    const v1::Block& block = host.blocks(0);
    tensors.push_back(block.tensor());
    size += block.size();
    EXPECT_EQ(block.kind(), block.tensor() == 1 ? v1::TensorSpec::STATISTIC
                                                : v1::TensorSpec::TRAINED);
    EXPECT_EQ(begin.shards(i).address(), i == 0 ? "s0:7000" : "s1:7000");
    ASSERT_EQ(begin.shards(i).blocks_size(), 1);
    EXPECT_EQ(begin.shards(i).blocks(0).SerializeAsString(),
              block.SerializeAsString());
  }
  EXPECT_THAT(tensors, testing::UnorderedElementsAre(0, 1));
  EXPECT_EQ(size, 44);
}

// The gain is in the rate of each closing.
TEST_F(JobRunTest, ServersTakeARoundOfAdaScaleAsOneBatch) {
  spec_.set_round_strength("adascale");
  Assemble();
  for (int i = 0; i < 2; ++i) {
    const v1::HostJob host = server(i).Await(v1::ServerCommand::kHost).host();
    EXPECT_EQ(host.job().round_strength(), "constant");
  }
}

TEST_F(JobRunTest, RunsToItsEndAndReportsTheResult) {
  StartTraining();
  const v1::Grant grant = first_grants()[1];
  EXPECT_EQ(grant.iteration(), 1);
  EXPECT_EQ(grant.range().begin(), 10u);
  EXPECT_EQ(grant.closing(), 0);
  EXPECT_TRUE(grant.plan().has_round());
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(worker(i).SayPushed(first_grants()[i]).ok());
  }
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
  auto second = server(1).Commands();
  ASSERT_EQ(first.size(), 4u);
  ASSERT_EQ(second.size(), 4u);
  EXPECT_TRUE(first[0].has_host());
  for (int i = 1; i < 3; ++i) {
    EXPECT_EQ(first[i].close().closing(), i);
    EXPECT_EQ(second[i].shard(), 1u);
    second[i].clear_shard();
    EXPECT_EQ(first[i].SerializeAsString(), second[i].SerializeAsString());
    EXPECT_EQ(first[i].run(), job_->run());
  }
  EXPECT_EQ(first[3].unhost().reason(), "the job has ended");
  EXPECT_EQ(first[3].sequence(), 0u);
  // Nobody is taken any more, and nothing changed.
  const FakeWorker late(job_.get(), "w9");
  EXPECT_TRUE(absl::IsFailedPrecondition(late.registered()));
  EXPECT_TRUE(
      absl::IsFailedPrecondition(job_->Switch(*ParseParadigm("asp"), "late")));
  job_->OnServerDisconnected(100);  // Its stream ends after the stop.
}

TEST_F(JobRunTest, ToldWhyItFailedWhoIsThereStops) {
  MakeJob();
  AddWorker("w0").Enter(SmallModel(40));
  AddWorker("w1").Enter(SmallModel(41));
  RunJob();
  const absl::Status& outcome = Outcome().status;
  EXPECT_TRUE(absl::IsFailedPrecondition(outcome));
  EXPECT_THAT(outcome.ToString(),
              HasSubstr("w1: the job wants 40 samples, this data set has 41"));
  for (size_t i = 0; i < 2; ++i) {
    const v1::Stop stop = worker(i).AwaitStop();
    EXPECT_THAT(stop.reason(),
                HasSubstr("the job failed: w1: the job wants 40 samples"));
    EXPECT_EQ(stop.code(), static_cast<int>(outcome.code()));
  }
}

TEST_F(JobRunTest, CancelEndsTheJobWithItsReason) {
  StartTraining();
  job_->Cancel(absl::CancelledError("told to stop"));
  job_->Cancel(absl::InternalError("the second reason"));
  EXPECT_EQ(Outcome().status, absl::CancelledError("told to stop"));
  const v1::Stop stop = worker(0).AwaitStop();
  EXPECT_EQ(stop.reason(), "told to stop");
  EXPECT_EQ(stop.code(), 0) << "nothing is wrong with the worker";
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
  for (const v1::ServerCommand& command : server(0).Commands()) {
    EXPECT_FALSE(command.has_host());
  }
}

TEST_F(JobRunTest, OnlyItsOwnServersAreHeard) {
  MakeJob();
  v1::ServerMessage done;
  done.mutable_done()->set_sequence(1);
  EXPECT_TRUE(job_->OnServerMessage(100, done).ok());
  EXPECT_TRUE(job_->OnServerMessage(99, done).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(job_->OnServerMessage(100, {})));
  EXPECT_THAT(job_->Servers(), ElementsAre(100, 101));
  // Are nothing to the job.
  job_->OnServerLeaving(99, true);
  job_->OnServerDisconnected(99);
  AddWorker("w0").Enter(SmallModel(40));
  RunJob();
  AwaitPhase("loading");
  job_->OnServerLeaving(100, true);
  job_->OnServerDisconnected(100);
  EXPECT_TRUE(Outcome().status.ok()) << Outcome().status;
  EXPECT_TRUE(Outcome().paused);
  EXPECT_TRUE(Outcome().out_of_servers);
}

TEST_F(JobRunTest, AServerThatFailsFailsTheJobWithItsReason) {
  StartTraining();
  v1::ServerMessage failed;
  failed.mutable_failed()->set_code(
      static_cast<int>(absl::StatusCode::kInvalidArgument));
  failed.mutable_failed()->set_message("unknown optimizer");
  EXPECT_TRUE(server(1).Say(failed).ok());
  EXPECT_EQ(Outcome().status,
            absl::InvalidArgumentError("s1: unknown optimizer"));
}

TEST_F(JobRunTest, AServerThatIsGoneFailsTheJob) {
  StartTraining();
  job_->OnServerDisconnected(server(0).member());
  const absl::Status& outcome = Outcome().status;
  EXPECT_TRUE(absl::IsUnavailable(outcome));
  EXPECT_THAT(outcome.ToString(), HasSubstr("parameter server s0 is gone"));
}

TEST_F(JobRunTest, MessagesOutOfOrderAreRefused) {
  MakeJob();
  FakeWorker& added = AddWorker("w0");
  EXPECT_TRUE(absl::IsInvalidArgument(added.Say({})));
  v1::WorkerMessage hello;
  hello.mutable_hello()->set_name("w0");
  EXPECT_TRUE(absl::IsInvalidArgument(added.Say(hello)));
  EXPECT_TRUE(absl::IsInvalidArgument(added.SayPushed({})));
  EXPECT_TRUE(absl::IsFailedPrecondition(added.SayEvaluated(1, 1)));
  EXPECT_TRUE(added.SayReady(SmallModel(40)).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(added.SayReady(SmallModel(40))));
  EXPECT_TRUE(added.SayHeartbeat().ok());  // The fleet answers it.
  added.Next(Kind::kAssign);
  EXPECT_TRUE(added.HasNothing());
}

TEST_F(JobRunTest, PushesThatWereNotGrantedAreRefused) {
  StartTraining();
  v1::Grant other = first_grants()[0];
  other.set_iteration(2);
  EXPECT_TRUE(absl::IsFailedPrecondition(worker(0).SayPushed(other)));
  other = first_grants()[0];
  other.mutable_range()->set_end(11);
  EXPECT_TRUE(absl::IsInvalidArgument(worker(0).SayPushed(other)));
  EXPECT_TRUE(worker(0).SayPushed(first_grants()[0]).ok());
  EXPECT_TRUE(
      absl::IsFailedPrecondition(worker(0).SayPushed(first_grants()[0])));
}

TEST_F(JobRunTest, WhoLoadsAheadHearsWhatIsReservedForItAndWhatIsNot) {
  spec_.set_paradigm("asp");
  MakeJob();
  v1::WorkerReady ready = SmallModel(40);
  ready.set_lookahead(10);
  AddWorker("w0").Enter(ready);
  AddWorker("w1").Enter(SmallModel(40));
  RunJob();
  worker(0).Next(Kind::kBegin);
  EXPECT_TRUE(worker(0).SayInitialized().ok());
  worker(1).Next(Kind::kBegin);
  const v1::Grant first = worker(0).Next(Kind::kGrant).grant();
  EXPECT_EQ(first.range().begin(), 0u);
  ASSERT_EQ(first.reserved_size(), 1);
  EXPECT_EQ(first.reserved(0).begin(), 10u);
  EXPECT_EQ(first.reserved(0).end(), 20u);
  // w1 has nothing left to do but that.
  for (const uint32_t begin : {20, 30, 10}) {
    const v1::Grant grant = worker(1).Next(Kind::kGrant).grant();
    EXPECT_EQ(grant.range().begin(), begin);
    EXPECT_EQ(grant.reserved_size(), 0);
    EXPECT_TRUE(worker(1).SayPushed(grant).ok());
  }
  worker(0).Next(Kind::kDropReserved);
  EXPECT_TRUE(worker(0).SayPushed(first).ok());
  EXPECT_TRUE(Outcome().status.ok());
  EXPECT_EQ(Report()["samples"], 40);
}

TEST_F(JobRunTest, ALookaheadBeyondAllMeasureIsRefused) {
  MakeJob();
  FakeWorker& added = AddWorker("w0");
  added.Next(Kind::kAssign);
  v1::WorkerReady ready = SmallModel(40);
  ready.set_lookahead((1u << 20) + 1);
  const absl::Status refused = added.SayReady(ready);
  EXPECT_TRUE(absl::IsInvalidArgument(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("at most 1048576"));
}

TEST_F(JobRunTest, ALostWorkerIsFencedByTheIncarnationOfItsAssignment) {
  MakeJob();
  std::vector<uint64_t> incarnations;
  for (const char* const name : {"w0", "w1"}) {
    FakeWorker& added = AddWorker(name);
    incarnations.push_back(added.Next(Kind::kAssign).assign().incarnation());
    EXPECT_TRUE(added.SayReady(SmallModel(40)).ok());
  }
  RunJob();
  worker(0).Next(Kind::kBegin);
  EXPECT_TRUE(worker(0).SayInitialized().ok());
  worker(1).Next(Kind::kBegin);
  worker(1).Next(Kind::kGrant);
  worker(1).Break();
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(server(i).Await(v1::ServerCommand::kFence).fence().incarnation(),
              incarnations[1]);
  }
  EXPECT_EQ(worker(0).Work(), 4);  // With the lost ten.
  EXPECT_TRUE(Outcome().status.ok());
  EXPECT_EQ(Report()["samples"], 40);
  EXPECT_EQ(Report()["workers"][1]["samples"], 0);
  // People are told of the loss and of the range.
  const auto decisions = History().decisions;
  ASSERT_EQ(decisions.size(), 2u);
  for (const v1::Decision& decision : decisions) {
    EXPECT_EQ(decision.worker(), "w1");
    EXPECT_EQ(decision.kind(), "worker-lost");
  }
  EXPECT_THAT(decisions[0].text(), HasSubstr("stream broken"));
}

TEST_F(JobRunTest, WhyAWorkerGivesUpIsToldBeforeItIsLost) {
  StartTraining();
  v1::WorkerMessage giving_up;
  giving_up.mutable_giving_up()->set_code(
      static_cast<int>(absl::StatusCode::kUnavailable));
  giving_up.mutable_giving_up()->set_message(
      "server s1:7071: DNS resolution failed");
  EXPECT_TRUE(worker(1).Say(giving_up).ok());
  worker(1).Break();
  AwaitDecision("gives up: UNAVAILABLE: server s1:7071: DNS resolution failed");
  AwaitDecision("lost (stream broken)");
  EXPECT_EQ(History().decisions[0].worker(), "w1");
  // It counts as lost, no more: nobody calls it unfit.
  EXPECT_TRUE(worker(0).SayPushed(first_grants()[0]).ok());
  EXPECT_EQ(worker(0).Work(), 3);
  EXPECT_TRUE(Outcome().status.ok());
}

TEST_F(JobRunTest, WhoIsSilentIsClosed) {
  StartTraining();
  clock_.Advance(absl::Seconds(6));  // Of a lease of ten.
  EXPECT_TRUE(worker(1).SayHeartbeat().ok());
  clock_.Advance(absl::Seconds(6));
  EXPECT_TRUE(absl::IsAborted(worker(0).AwaitClosed()));
}

TEST_F(JobRunTest, AWorkerThatComesBackGoesOnInItsRow) {
  StartTraining();
  worker(0).Break();
  FakeWorker& again = AddWorker("w0");
  again.Enter(SmallModel(40));
  EXPECT_FALSE(again.Next(Kind::kBegin).begin().initialize());
  EXPECT_TRUE(worker(1).SayPushed(first_grants()[1]).ok());
  std::thread other([this] { worker(1).Work(); });
  again.Work();
  other.join();
  EXPECT_TRUE(Outcome().status.ok());
  EXPECT_EQ(Report()["samples"], 40);
  EXPECT_EQ(Report()["workers"].size(), 2u);
}

TEST_F(JobRunTest, WhyOneCannotTakePartIsTold) {
  StartTraining();
  FakeWorker& joiner = AddWorker("w2");
  joiner.Next(Kind::kAssign);
  v1::WorkerMessage failed;
  failed.mutable_failed()->set_code(
      static_cast<int>(absl::StatusCode::kDataLoss));
  failed.mutable_failed()->set_message("mnist: the file is truncated");
  EXPECT_TRUE(joiner.Say(failed).ok());
  AwaitDecision("cannot take part: DATA_LOSS: mnist: the file is truncated");
  EXPECT_EQ(History().decisions.back().worker(), "w2");
}

TEST_F(JobRunTest, AReleasedWorkerIsToldWhyAndLeaves) {
  StartTraining();
  job_->ReleaseWorker(worker(1).id(), "another job waits");
  EXPECT_EQ(worker(1).AwaitStop().reason(), "another job waits");
  // As the real ones do, it finishes its iteration.
  EXPECT_TRUE(worker(1).SayPushed(first_grants()[1]).ok());
  EXPECT_TRUE(worker(1).SayLeaving().ok());
  EXPECT_TRUE(worker(1).IsGone());
  worker(1).Break();  // Its stream ends, having been closed.
  EXPECT_TRUE(worker(0).SayPushed(first_grants()[0]).ok());
  EXPECT_EQ(worker(0).Work(), 2);
  EXPECT_TRUE(Outcome().status.ok());
  EXPECT_EQ(Report()["workers"][1]["samples"], 10);
  EXPECT_THAT(History().decisions[0].text(), HasSubstr("departed"));
}

TEST_F(JobRunTest, BeforeTheTrainingItBeginsWithAnotherParadigm) {
  MakeJob();
  EXPECT_TRUE(job_->Switch(*ParseParadigm("asp"), "a change of mind").ok());
  EXPECT_EQ(job_->Progress().paradigm(), "asp");
  AddWorker("w0").Enter(SmallModel(40));
  AddWorker("w1").Enter(SmallModel(40));
  RunJob();
  worker(0).Next(Kind::kBegin);
  EXPECT_TRUE(worker(0).SayInitialized().ok());
  EXPECT_EQ(worker(0).Next(Kind::kGrant).grant().plan().immediate_rate(), 0.1);
  EXPECT_EQ(Report()["paradigm"], "asp");
  EXPECT_THAT(History().paradigms, IsEmpty());
}

TEST_F(JobRunTest, WhileItTrainsAnotherParadigmTakesOverAtOnce) {
  StartTraining();
  EXPECT_EQ(job_->Progress().paradigm(), "bsp");
  EXPECT_TRUE(job_->Switch(*ParseParadigm("asp"), "a test").ok());
  EXPECT_EQ(job_->Progress().paradigm(), "asp");
  AwaitDecision("switched from bsp to asp (a test)");
  EXPECT_THAT(History().paradigms, ElementsAre("asp"));
  EXPECT_EQ(History().decisions.back().kind(), "switch");
  EXPECT_EQ(History().decisions.back().worker(), "job");
  EXPECT_EQ(Report()["switches"].size(), 1u);
  EXPECT_EQ(Report()["paradigm"], "bsp");
}

TEST_F(JobRunTest, ASwitchMayWaitForTheClosing) {
  StartTraining();
  EXPECT_TRUE(job_->Switch(*ParseParadigm("asp"), "a test", std::nullopt,
                           /*with_closing=*/true)
                  .ok());
  EXPECT_EQ(job_->Progress().paradigm(), "bsp");
  EXPECT_EQ(job_->Spec().paradigm(), "asp");
  EXPECT_TRUE(job_->Paces()->switching);
  EXPECT_TRUE(worker(0).SayPushed(first_grants()[0]).ok());
  EXPECT_TRUE(job_->Paces()->switching);
  EXPECT_THAT(History().paradigms, IsEmpty());
  EXPECT_TRUE(worker(1).SayPushed(first_grants()[1]).ok());
  AwaitDecision("switched from bsp to asp (a test)");
  EXPECT_FALSE(job_->Paces()->switching);
  EXPECT_EQ(worker(0).Next(Kind::kGrant).grant().plan().immediate_rate(), 0.1);
}

// People have the last word, also over what was chosen a moment ago.
TEST_F(JobRunTest, WhoeverEndsTheChoosingEndsWhatWaitsForAClosing) {
  StartTraining();
  v1::JobSpec spec = job_->Spec();
  for (const bool acts : {true, false}) {
    EXPECT_TRUE(job_->Switch(*ParseParadigm("asp"), "a test", std::nullopt,
                             /*with_closing=*/true)
                    .ok());
    spec.mutable_auto_()->set_act(acts);
    job_->Update(*ParseJob(spec));
    EXPECT_EQ(job_->Paces()->switching, acts);
    EXPECT_EQ(job_->Spec().paradigm(), acts ? "asp" : "bsp");
  }
}

TEST_F(JobRunTest, ASwitchMayDivideTheBatchesAnew) {
  StartTraining();
  EXPECT_EQ(job_->Paces()->job.batching, Batching::kEven);
  EXPECT_TRUE(
      job_->Switch(*ParseParadigm("bsp"), "a test", Batching::kBalanced).ok());
  AwaitDecision("switched from bsp to bsp (a test)");
  EXPECT_EQ(job_->Paces()->job.batching, Batching::kBalanced);
  EXPECT_THAT(History().batchings, ElementsAre("balanced"));
  // Who says nothing of them leaves them as they are.
  EXPECT_TRUE(job_->Switch(*ParseParadigm("asp"), "a test").ok());
  EXPECT_EQ(job_->Paces()->job.batching, Batching::kBalanced);
}

// It compares everything with what the job was under when it was looked at.
TEST_F(JobRunTest, AdviceHoldsWhileTheJobStaysUnderWhatItIsAbout) {
  StartTraining();
  const BatchedParadigm even = {*ParseParadigm("bsp"), Batching::kEven};
  const BatchedParadigm balanced = {even.paradigm, Batching::kBalanced};
  v1::Advice advice;
  advice.set_paradigm("bsp");
  EXPECT_TRUE(job_->Advise(even, advice, /*news=*/false));
  EXPECT_TRUE(job_->Advice().has_value());
  EXPECT_TRUE(job_->Progress().has_advice());
  v1::JobSpec spec = job_->Spec();
  spec.set_batching("balanced");
  job_->Update(*ParseJob(spec));
  EXPECT_FALSE(job_->Advice().has_value());
  EXPECT_FALSE(job_->Progress().has_advice());
  // It was made before, and comes now.
  EXPECT_FALSE(job_->Advise(even, advice, /*news=*/true));
  EXPECT_FALSE(job_->Advice().has_value());
  // With what waits for a closing.
  EXPECT_TRUE(job_->Advise(balanced, advice, /*news=*/false));
  EXPECT_TRUE(job_->Advice().has_value());
  EXPECT_TRUE(job_->Switch(*ParseParadigm("asp"), "a test", std::nullopt,
                           /*with_closing=*/true)
                  .ok());
  EXPECT_FALSE(job_->Advice().has_value());
}

TEST_F(JobRunTest, AnUpdateHoldsFromThenOn) {
  spec_.set_paradigm("asp");
  StartTraining();
  spec_.set_learning_rate(0.025);
  spec_.mutable_stop()->set_epochs(2);
  job_->Update(*ParseJob(spec_));
  EXPECT_EQ(job_->Progress().samples_total(), 80);
  EXPECT_EQ(first_grants()[0].plan().rated_at(), 0);
  EXPECT_TRUE(worker(0).SayPushed(first_grants()[0]).ok());
  const v1::PushPlan plan = worker(0).Next(Kind::kGrant).grant().plan();
  EXPECT_EQ(plan.immediate_rate(), 0.025);
  EXPECT_EQ(plan.rated_at(), 1);
}

TEST_F(JobRunTest, WorkersHearOfTheRateOfNowUnderRoundsToo) {
  StartTraining();
  EXPECT_EQ(first_grants()[0].rate(), 0.1);
  spec_.set_learning_rate(0.025);
  job_->Update(*ParseJob(spec_));
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(worker(i).SayPushed(first_grants()[i]).ok());
  }
  EXPECT_EQ(worker(0).Next(Kind::kGrant).grant().rate(), 0.025);
  FakeWorker& late = AddWorker("w9");
  EXPECT_EQ(late.Next(Kind::kAssign).assign().job().learning_rate(), 0.025);
}

}  // namespace
}  // namespace paceline
