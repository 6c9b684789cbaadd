// What can be changed of a run: its workers, its paradigm, its conditions.

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/services/coordinator/run/job_run_testing.h"

namespace paceline {
namespace {

using Kind = FakeWorker::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class JobRunChangesTest : public JobRunTest {
 protected:
  void PushBoth(const std::vector<v1::Grant>& grants) {
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_TRUE(worker(i).SayPushed(grants[i]).ok());
    }
  }
};

TEST_F(JobRunChangesTest, AReleasedWorkersBatchIsDealtAgain) {
  StartTraining();
  job_->ReleaseWorker(worker(1).id(), "another job waits");
  EXPECT_EQ(worker(1).AwaitStop(), "another job waits");
  EXPECT_TRUE(worker(1).SayLeaving().ok());
  EXPECT_TRUE(worker(1).IsGone());
  EXPECT_TRUE(worker(0).SayPushed(first_grants()[0]).ok());
  EXPECT_EQ(worker(0).Work(), 3);
  EXPECT_TRUE(Outcome().status.ok());
  EXPECT_EQ(Report()["samples"], 40);
  EXPECT_EQ(Report()["workers"][1]["samples"], 0);
  EXPECT_THAT(History().decisions[0].text(), HasSubstr("departed"));
}

// As the real ones do.
TEST_F(JobRunChangesTest, AReleasedWorkerMayFinishItsIteration) {
  StartTraining();
  job_->ReleaseWorker(worker(1).id(), "drained");
  worker(1).AwaitStop();
  EXPECT_TRUE(worker(1).SayPushed(first_grants()[1]).ok());
  EXPECT_TRUE(worker(1).SayLeaving().ok());
  EXPECT_TRUE(worker(0).SayPushed(first_grants()[0]).ok());
  EXPECT_EQ(worker(0).Work(), 2);
  EXPECT_TRUE(Outcome().status.ok());
  EXPECT_EQ(Report()["samples"], 40);
}

TEST_F(JobRunChangesTest, AReleasedWorkerCanComeBack) {
  StartTraining();
  job_->ReleaseWorker(worker(1).id(), "drained");
  EXPECT_TRUE(worker(1).SayLeaving().ok());
  FakeWorker& again = AddWorker("w1");
  again.Enter(SmallModel(40));
  EXPECT_FALSE(again.Next(Kind::kBegin).begin().initialize());
  EXPECT_TRUE(worker(0).SayPushed(first_grants()[0]).ok());
  std::thread other([this] { worker(0).Work(); });
  again.Work();
  other.join();
  EXPECT_TRUE(Outcome().status.ok());
  EXPECT_EQ(Report()["workers"].size(), 2u);
}

TEST_F(JobRunChangesTest, WhoeverWritesTheWeightsCanBeReleased) {
  Assemble();
  EXPECT_TRUE(worker(0).Next(Kind::kBegin).begin().initialize());
  job_->ReleaseWorker(worker(0).id(), "drained");
  worker(0).AwaitStop();
  EXPECT_TRUE(worker(0).SayLeaving().ok());
  EXPECT_TRUE(worker(0).IsGone());
  EXPECT_TRUE(worker(1).Next(Kind::kBegin).begin().initialize());
  EXPECT_TRUE(worker(1).SayInitialized().ok());
  EXPECT_EQ(worker(1).Work(), 4);
  EXPECT_TRUE(Outcome().status.ok());
}

TEST_F(JobRunChangesTest, BeforeTheTrainingItBeginsWithAnotherParadigm) {
  MakeJob();
  EXPECT_TRUE(job_->Switch(*ParseParadigm("asp"), "a change of mind").ok());
  EXPECT_EQ(job_->Progress().paradigm(), "asp");
  AddWorker("w0").Enter(SmallModel(40));
  AddWorker("w1").Enter(SmallModel(40));
  RunJob();
  worker(0).Next(Kind::kBegin);
  EXPECT_TRUE(worker(0).SayInitialized().ok());
  EXPECT_TRUE(worker(0).Next(Kind::kGrant).grant().plan().has_immediate_rate());
  EXPECT_EQ(Report()["paradigm"], "asp");
  EXPECT_THAT(History().paradigms, IsEmpty());
}

TEST_F(JobRunChangesTest, WhileItTrainsAnotherParadigmTakesOverAtOnce) {
  StartTraining();
  EXPECT_EQ(job_->Progress().paradigm(), "bsp");
  EXPECT_TRUE(job_->Switch(*ParseParadigm("asp"), "a test").ok());
  EXPECT_EQ(job_->Progress().paradigm(), "asp");
  AwaitDecision("switched from bsp to asp (a test)");
  EXPECT_THAT(History().paradigms, ElementsAre("asp"));
  EXPECT_EQ(History().decisions.back().kind(), "switch");
  EXPECT_EQ(History().decisions.back().worker(), "job");
  // Released alone.
  EXPECT_TRUE(worker(0).SayPushed(first_grants()[0]).ok());
  EXPECT_TRUE(worker(0).Next(Kind::kGrant).grant().plan().has_immediate_rate());
  EXPECT_EQ(Report()["switches"].size(), 1u);
  EXPECT_EQ(Report()["paradigm"], "bsp");
}

TEST_F(JobRunChangesTest, AfterTheEndNoneTakesOver) {
  Assemble();
  WorkToTheEnd();
  EXPECT_TRUE(Outcome().status.ok());
  EXPECT_TRUE(
      absl::IsFailedPrecondition(job_->Switch(*ParseParadigm("asp"), "late")));
}

TEST_F(JobRunChangesTest, BeforeTheTrainingAnUpdateIsWhatItBeginsWith) {
  spec_.set_paradigm("asp");
  MakeJob();
  spec_.set_learning_rate(0.25);
  spec_.mutable_stop()->set_samples(15);
  job_->Update(*ParseJob(spec_));
  AddWorker("w0").Enter(SmallModel(40));
  AddWorker("w1").Enter(SmallModel(40));
  RunJob();
  worker(0).Next(Kind::kBegin);
  EXPECT_TRUE(worker(0).SayInitialized().ok());
  const v1::Grant grant = worker(0).Next(Kind::kGrant).grant();
  EXPECT_EQ(grant.plan().immediate_rate(), 0.25);
  EXPECT_TRUE(worker(0).SayPushed(grant).ok());
  WorkToTheEnd();
  EXPECT_TRUE(Outcome().status.ok());
  EXPECT_EQ(Report()["samples"], 20);  // Whole pushes.
}

TEST_F(JobRunChangesTest, FewerWorkersAreEnoughOnceItIsSaid) {
  MakeJob();
  AddWorker("w0").Enter(SmallModel(40));
  RunJob();
  AwaitPhase("loading");
  spec_.mutable_workers()->set_min(1);
  job_->Update(*ParseJob(spec_));
  EXPECT_EQ(worker(0).Work(), 4);
  EXPECT_TRUE(Outcome().status.ok());
}

TEST_F(JobRunChangesTest, ALearningRateHoldsFromTheNextGrantOn) {
  spec_.set_paradigm("asp");
  StartTraining();
  EXPECT_EQ(first_grants()[0].plan().immediate_rate(), 0.1);
  spec_.set_learning_rate(0.025);
  job_->Update(*ParseJob(spec_));
  EXPECT_TRUE(worker(0).SayPushed(first_grants()[0]).ok());
  EXPECT_EQ(worker(0).Next(Kind::kGrant).grant().plan().immediate_rate(),
            0.025);
}

TEST_F(JobRunChangesTest, MoreEpochsThanAtFirst) {
  StartTraining();
  spec_.mutable_stop()->set_epochs(2);
  job_->Update(*ParseJob(spec_));
  EXPECT_EQ(job_->Progress().samples_total(), 80);
  PushBoth(first_grants());
  WorkToTheEnd();
  EXPECT_TRUE(Outcome().status.ok());
  EXPECT_EQ(Report()["samples"], 80);
}

TEST_F(JobRunChangesTest, FewerSamplesThanWereDealtEndTheJob) {
  StartTraining();
  spec_.mutable_stop()->set_samples(1);
  job_->Update(*ParseJob(spec_));
  PushBoth(first_grants());
  EXPECT_TRUE(Outcome().status.ok());
  EXPECT_FALSE(Outcome().paused);
  EXPECT_EQ(Report()["samples"], 20);
}

TEST_F(JobRunChangesTest, ATimeLimitThatHasPassedEndsTheJob) {
  StartTraining();
  clock_.Advance(absl::Seconds(5));
  spec_.mutable_stop()->set_seconds(5);
  job_->Update(*ParseJob(spec_));
  AwaitDecision("nothing more is dealt");
  PushBoth(first_grants());
  EXPECT_TRUE(Outcome().status.ok());
  EXPECT_EQ(Report()["samples"], 20);
}

TEST_F(JobRunChangesTest, SamplesAloneMayGoBeyondAnEpoch) {
  spec_.mutable_stop()->set_epochs(0);
  spec_.mutable_stop()->set_samples(55);
  StartTraining();
  EXPECT_EQ(job_->Progress().samples_total(), 55);
  PushBoth(first_grants());
  WorkToTheEnd();
  EXPECT_TRUE(Outcome().status.ok());
  EXPECT_EQ(Report()["samples"], 60);
}

// Of two conditions the first that holds.
TEST_F(JobRunChangesTest, EpochsBoundTheSamples) {
  spec_.mutable_stop()->set_samples(1'000);
  Assemble();
  WorkToTheEnd();
  EXPECT_TRUE(Outcome().status.ok());
  EXPECT_EQ(Report()["samples"], 40);
}

}  // namespace
}  // namespace paceline
