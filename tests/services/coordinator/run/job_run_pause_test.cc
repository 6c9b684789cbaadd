// A run that is paused, and another that goes on from its checkpoint.

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_tools.h"
#include "gmock/gmock.h"
#include "tests/services/coordinator/run/job_run_testing.h"

namespace paceline {
namespace {

using Kind = FakeWorker::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class JobRunPauseTest : public JobRunTest {
 protected:
  JobRunPauseTest() { KeepCheckpoints(); }

  // Pauses after the first round of the two, two seconds into the training.
  void PauseAfterARound() {
    StartTraining();
    clock_.Advance(absl::Seconds(2));
    EXPECT_TRUE(worker(0).SayPushed(first_grants()[0]).ok());
    job_->Pause(absl::Seconds(30));
    AwaitDecision("nothing more is dealt");
    EXPECT_TRUE(worker(1).SayPushed(first_grants()[1]).ok());
    EXPECT_TRUE(Outcome().status.ok()) << Outcome().status;
    EXPECT_TRUE(Outcome().paused);
  }
  // The run after that one.
  void GoOnFrom(const std::string& id) {
    EndRun();
    setup_.restore_from = FolderOf(id);
  }
};

TEST_F(JobRunPauseTest, WhileItAssemblesNothingHasToBeSaved) {
  MakeJob();
  AddWorker("w0").Enter(SmallModel(40));
  RunJob();
  AwaitPhase("loading");
  job_->Pause(absl::Seconds(30));
  EXPECT_TRUE(Outcome().status.ok());
  EXPECT_TRUE(Outcome().paused);
  EXPECT_FALSE(Outcome().out_of_workers);
  EXPECT_EQ(Outcome().checkpoint, "");
  EXPECT_EQ(worker(0).AwaitStop(), "the job has ended");
  EXPECT_THAT(History().checkpoints, IsEmpty());
  EXPECT_THAT(History().started, IsEmpty());
  EXPECT_TRUE(Report().is_null());
}

TEST_F(JobRunPauseTest, BeforeItIsRun) {
  MakeJob();
  job_->Pause(absl::Seconds(30));
  RunJob();
  EXPECT_TRUE(Outcome().paused);
}

TEST_F(JobRunPauseTest, WhileTheWeightsAreWritten) {
  Assemble();
  worker(0).Next(Kind::kBegin);
  job_->Pause(absl::Seconds(30));
  EXPECT_TRUE(Outcome().paused);
  EXPECT_EQ(Outcome().checkpoint, "");
  worker(0).AwaitStop();
}

TEST_F(JobRunPauseTest, WhileItTrainsWhatIsInFlightIsCountedAndSaved) {
  PauseAfterARound();
  EXPECT_FALSE(Outcome().out_of_workers);
  EXPECT_EQ(Outcome().checkpoint, "pause-20-0001");
  const v1::Checkpoint saved = History().checkpoints.back();
  EXPECT_EQ(saved.state(), v1::Checkpoint::READY);
  EXPECT_TRUE(saved.exact());
  EXPECT_EQ(saved.samples(), 20);
  EXPECT_EQ(saved.version(), 1);
  const auto report = VerifyCheckpoint(FolderOf("pause-20-0001"));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->problems, IsEmpty());
  EXPECT_EQ(report->manifest.seconds, 2);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(worker(i).AwaitStop(), "the job has ended");
    EXPECT_TRUE(server(i).Commands().back().has_unhost());
  }
}

// There is nothing to be taken up again.
TEST_F(JobRunPauseTest, AfterTheLastSampleItHasEnded) {
  StartTraining();
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(worker(i).SayPushed(first_grants()[i]).ok());
  }
  const v1::Grant last = worker(0).Next(Kind::kGrant).grant();
  EXPECT_TRUE(worker(1).SayPushed(worker(1).Next(Kind::kGrant).grant()).ok());
  job_->Pause(absl::Seconds(30));
  AwaitDecision("nothing more is dealt");
  EXPECT_TRUE(worker(0).SayPushed(last).ok());
  EXPECT_TRUE(Outcome().status.ok());
  EXPECT_FALSE(Outcome().paused);
  EXPECT_EQ(History().checkpoints.back().samples(), 40);
}

TEST_F(JobRunPauseTest, WithoutAFolderItIsPausedAllTheSame) {
  setup_.checkpoint_root.clear();
  PauseAfterARound();
  EXPECT_EQ(Outcome().checkpoint, "");
}

TEST_F(JobRunPauseTest, ACheckpointThatFailsFailsThePause) {
  StartTraining();
  server(1).FailCheckpoints(absl::ResourceExhaustedError("the disk is full"));
  job_->Pause(absl::Seconds(30));
  AwaitDecision("nothing more is dealt");
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(worker(i).SayPushed(first_grants()[i]).ok());
  }
  EXPECT_TRUE(absl::IsResourceExhausted(Outcome().status));
  EXPECT_FALSE(Outcome().paused);
}

TEST_F(JobRunPauseTest, CancelledWhileItPausesItIsCancelled) {
  StartTraining();
  job_->Pause(absl::Seconds(30));
  AwaitDecision("nothing more is dealt");
  job_->Cancel(absl::CancelledError("by an admin"));
  EXPECT_EQ(Outcome().status, absl::CancelledError("by an admin"));
  EXPECT_FALSE(Outcome().paused);
}

TEST_F(JobRunPauseTest, AnotherRunGoesOnWhereItStood) {
  PauseAfterARound();
  GoOnFrom("pause-20-0001");
  spec_.set_servers(1);  // Onto another number of servers.
  StartTraining();
  const v1::HostJob host = server(0).Await(v1::ServerCommand::kHost).host();
  EXPECT_EQ(host.restore_from(), FolderOf("pause-20-0001"));
  EXPECT_EQ(host.blocks_size(), 2);
  EXPECT_EQ(first_grants()[0].range().begin(), 20u);
  EXPECT_EQ(first_grants()[0].base_version(), 1);
  EXPECT_EQ(first_grants()[0].closing(), 0);
  EXPECT_EQ(first_grants()[1].range().begin(), 30u);
  clock_.Advance(absl::Seconds(1));
  const v1::JobProgress progress = job_->Progress();
  EXPECT_EQ(progress.seconds(), 3);
  EXPECT_EQ(progress.samples(), 20);
  EXPECT_EQ(progress.samples_total(), 40);
  EXPECT_EQ(progress.version(), 1);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(worker(i).SayPushed(first_grants()[i]).ok());
  }
  EXPECT_TRUE(Outcome().status.ok()) << Outcome().status;
  EXPECT_FALSE(Outcome().paused);
  EXPECT_EQ(Outcome().checkpoint, "final-40-0002");
  EXPECT_EQ(Report()["samples"], 40);
  EXPECT_EQ(Report()["updates"], 2);
  EXPECT_EQ(Report()["seconds"], 3);
  const auto final = VerifyCheckpoint(FolderOf("final-40-0002"));
  ASSERT_TRUE(final.ok());
  EXPECT_THAT(final->problems, IsEmpty());
  EXPECT_EQ(final->manifest.files.size(), 1u);
  EXPECT_EQ(final->manifest.version, 2);
}

// Twice from the same: it may come to the same samples under another name.
TEST_F(JobRunPauseTest, PausedAgainAtOnceItIsSavedAgain) {
  PauseAfterARound();
  GoOnFrom("pause-20-0001");
  Assemble();
  job_->Pause(absl::Seconds(30));
  WorkToTheEnd();
  EXPECT_TRUE(Outcome().paused);
  EXPECT_NE(Outcome().checkpoint, "pause-20-0001");
  EXPECT_TRUE(VerifyCheckpoint(FolderOf("pause-20-0001"))->problems.empty());
}

TEST_F(JobRunPauseTest, TimeCountsOverBothRuns) {
  spec_.mutable_stop()->set_seconds(5);
  PauseAfterARound();
  GoOnFrom("pause-20-0001");
  StartTraining();
  clock_.Advance(absl::Seconds(2));
  EXPECT_TRUE(worker(0).SayHeartbeat().ok());
  EXPECT_EQ(job_->Progress().seconds(), 4);
  EXPECT_THAT(History().decisions, IsEmpty());
  clock_.Advance(absl::Seconds(1));
  AwaitDecision("nothing more is dealt after 20 samples");
}

// Nor left out: the second is due with the very last push of the first run.
TEST_F(JobRunPauseTest, APlannedSwitchIsMadeOnce) {
  spec_.set_paradigm("asp");
  for (const auto& [samples, paradigm] :
       std::vector<std::pair<int, std::string>>{
           {10, "bsp"}, {20, "ssp:s=3"}, {30, "asp"}}) {
    v1::PlannedSwitch& planned = *spec_.add_switches();
    planned.set_samples(samples);
    planned.set_paradigm(paradigm);
  }
  StartTraining();
  job_->Pause(absl::Seconds(30));
  AwaitDecision("nothing more is dealt");
  EXPECT_TRUE(worker(0).SayPushed(first_grants()[0]).ok());
  EXPECT_EQ(job_->Progress().paradigm(), "bsp");
  EXPECT_TRUE(worker(1).SayPushed(first_grants()[1]).ok());
  EXPECT_TRUE(Outcome().paused);
  EXPECT_THAT(History().paradigms, ElementsAre("bsp", "ssp:s=3"));
  EXPECT_THAT(VerifyCheckpoint(FolderOf("pause-20-0001"))->manifest.spec_json,
              HasSubstr("\"paradigm\":\"ssp:s=3\""));

  GoOnFrom("pause-20-0001");
  spec_.set_paradigm("ssp:s=3");  // Whoever keeps the job has noted it.
  StartTraining();
  EXPECT_EQ(job_->Progress().paradigm(), "ssp:s=3");
  EXPECT_TRUE(worker(0).SayPushed(first_grants()[0]).ok());
  EXPECT_EQ(job_->Progress().paradigm(), "asp");
  AwaitDecision("switched from ssp:s=3 to asp");
  EXPECT_THAT(History().paradigms, ElementsAre("asp"));
}

TEST_F(JobRunPauseTest, AnotherModelIsRefused) {
  PauseAfterARound();
  GoOnFrom("pause-20-0001");
  MakeJob();
  v1::WorkerReady other = SmallModel(40);
  other.mutable_tensors(1)->set_name("norm.variance");
  AddWorker("w0").Enter(other);
  AddWorker("w1").Enter(other);
  RunJob();
  EXPECT_TRUE(absl::IsFailedPrecondition(Outcome().status));
  EXPECT_THAT(Outcome().status.ToString(),
              HasSubstr("the checkpoint is of another model"));
}

TEST_F(JobRunPauseTest, DataThatAreTooShortAreRefused) {
  PauseAfterARound();
  GoOnFrom("pause-20-0001");
  MakeJob();
  AddWorker("w0").Enter(SmallModel(20));
  AddWorker("w1").Enter(SmallModel(20));
  RunJob();
  EXPECT_TRUE(absl::IsInvalidArgument(Outcome().status));
  EXPECT_THAT(Outcome().status.ToString(),
              HasSubstr("the checkpoint does not fit the training data: the "
                        "position is at sample 20 of epoch 0"));
}

TEST_F(JobRunPauseTest, ACheckpointThatIsNotThereIsRefused) {
  setup_.restore_from = FolderOf("none");
  MakeJob();
  RunJob();
  EXPECT_TRUE(absl::IsNotFound(Outcome().status)) << Outcome().status;
}

TEST_F(JobRunPauseTest, ADamagedCheckpointIsRefused) {
  PauseAfterARound();
  GoOnFrom("pause-20-0001");
  std::ofstream(absl::StrCat(setup_.restore_from, "/", kManifestName))
      << "{\"format\": ";
  MakeJob();
  RunJob();
  EXPECT_TRUE(absl::IsDataLoss(Outcome().status)) << Outcome().status;
}

TEST_F(JobRunPauseTest, WithoutWorkersItPausesItself) {
  StartTraining();
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(worker(i).SayPushed(first_grants()[i]).ok());
  }
  worker(0).Next(Kind::kGrant);
  worker(1).Next(Kind::kGrant);
  worker(0).Break();
  worker(1).Break();
  EXPECT_TRUE(server(0).Await(v1::ServerCommand::kFence).has_fence());
  clock_.Advance(absl::Seconds(11));
  EXPECT_TRUE(Outcome().status.ok()) << Outcome().status;
  EXPECT_TRUE(Outcome().paused);
  EXPECT_TRUE(Outcome().out_of_workers);
  EXPECT_EQ(Outcome().checkpoint, "pause-20-0001");
  const v1::Checkpoint saved = History().checkpoints.back();
  EXPECT_TRUE(saved.exact());
  EXPECT_EQ(saved.samples(), 20);
}

}  // namespace
}  // namespace paceline
