// The files of a run: what it saves, and another run that goes on from there.

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "common/checkpoint/checkpoint_tools.h"
#include "common/checkpoint/folder_lanes.h"
#include "gmock/gmock.h"
#include "tests/common/security/eventually.h"
#include "tests/services/coordinator/run/job_run_testing.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Rounds as of bsp, but without its announcements, for which checkpoints wait.
constexpr char kUnannounced[] = "elastic:r=1";

class JobRunCheckpointTest : public JobRunTest {
 protected:
  JobRunCheckpointTest() { KeepCheckpoints(); }

  void PushFirstRound() {
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_TRUE(worker(i).SayPushed(first_grants()[i]).ok());
    }
  }
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

  // The manifest of a checkpoint that has no fault.
  CheckpointManifest Verified(const std::string& id) const {
    const auto report = VerifyCheckpoint(FolderOf(id));
    EXPECT_TRUE(report.ok()) << report.status();
    if (!report.ok()) return {};
    EXPECT_THAT(report->problems, IsEmpty());
    return report->manifest;
  }
};

TEST_F(JobRunCheckpointTest, IsWrittenWhileTheJobTrains) {
  spec_.set_paradigm(kUnannounced);
  StartTraining();
  clock_.Advance(absl::Seconds(4));
  PushFirstRound();
  EXPECT_TRUE(job_->WriteCheckpoint("mine").ok());
  const v1::Checkpoint ready = AwaitCheckpoint("mine", v1::Checkpoint::READY);
  EXPECT_EQ(ready.samples(), 20);
  EXPECT_EQ(ready.version(), 1);
  EXPECT_EQ(ready.version_at_completion(), 1);
  EXPECT_FALSE(ready.exact());  // Two compute.
  EXPECT_EQ(ready.directory(), FolderOf("mine"));
  EXPECT_EQ(ready.servers(), 2u);
  EXPECT_GT(ready.bytes(), 0u);

  const CheckpointManifest manifest = Verified("mine");
  EXPECT_EQ(manifest.job, "namespaces/test/jobs/small");
  EXPECT_EQ(manifest.version, 1);
  EXPECT_EQ(manifest.samples, 20);
  EXPECT_EQ(manifest.seconds, 4);
  EXPECT_THAT(manifest.spec_json, HasSubstr("\"model\":\"logreg\""));
  EXPECT_THAT(manifest.position_json, HasSubstr("\"nextEpoch\":1"));
  ASSERT_EQ(manifest.tensors.size(), 2u);
  EXPECT_EQ(manifest.tensors[0].name, "dense.weight");
  EXPECT_EQ(manifest.blocks.size(), 2u);
  EXPECT_EQ(manifest.files.size(), 2u);

  WorkToTheEnd();
  EXPECT_TRUE(Outcome().status.ok()) << Outcome().status;
  EXPECT_TRUE(absl::IsFailedPrecondition(job_->WriteCheckpoint("late")));
  // Another one, exact, is made of the result.
  EXPECT_EQ(Outcome().checkpoint, "final-40-0001");
  std::vector<std::string> told;
  for (const v1::Checkpoint& checkpoint : History().checkpoints) {
    told.push_back(
        absl::StrCat(checkpoint.name(), " ",
                     v1::Checkpoint::State_Name(checkpoint.state())));
  }
  EXPECT_THAT(told,
              ElementsAre("mine WRITING", "mine READY", "final-40-0001 WRITING",
                          "final-40-0001 READY"));
  EXPECT_TRUE(History().checkpoints.back().exact());
  EXPECT_TRUE(Verified("final-40-0001").exact);
  // By number, so that all servers do the same.
  std::vector<v1::ServerCommand::KindCase> kinds;
  for (const v1::ServerCommand& command : server(0).Commands()) {
    kinds.push_back(command.kind_case());
  }
  using Command = v1::ServerCommand;
  EXPECT_THAT(kinds, ElementsAre(Command::kHost, Command::kClose,
                                 Command::kWriteCheckpoint, Command::kClose,
                                 Command::kWriteCheckpoint, Command::kUnhost));
}

TEST_F(JobRunCheckpointTest, WhatAServerCannotWriteIsRemovedAndToldWhy) {
  spec_.set_paradigm(kUnannounced);
  StartTraining();
  server(1).FailCheckpoints(
      absl::ResourceExhaustedError("no space left on the device"));
  EXPECT_TRUE(job_->WriteCheckpoint("mine").ok());
  const v1::Checkpoint failed = AwaitCheckpoint("mine", v1::Checkpoint::FAILED);
  EXPECT_EQ(failed.state_reason(), "s1: no space left on the device");
  EXPECT_TRUE(
      Eventually([&] { return !std::filesystem::exists(FolderOf("mine")); }));
  server(1).FailCheckpoints(absl::OkStatus());
  EXPECT_TRUE(job_->WriteCheckpoint("mine").ok());
  AwaitCheckpoint("mine", v1::Checkpoint::READY);
}

TEST_F(JobRunCheckpointTest, PausedItIsSaved) {
  PauseAfterARound();
  EXPECT_FALSE(Outcome().out_of_workers);
  EXPECT_EQ(Outcome().checkpoint, "pause-20-0001");
  const v1::Checkpoint saved = History().checkpoints.back();
  EXPECT_EQ(saved.state(), v1::Checkpoint::READY);
  EXPECT_TRUE(saved.exact());
  EXPECT_EQ(saved.samples(), 20);
  EXPECT_EQ(saved.version(), 1);
  EXPECT_EQ(Verified("pause-20-0001").seconds, 2);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(worker(i).AwaitStop().reason(), "the job has ended");
    EXPECT_TRUE(server(i).Commands().back().has_unhost());
  }
}

TEST_F(JobRunCheckpointTest, AnotherRunGoesOnWhereItStood) {
  PauseAfterARound();
  GoOnFrom("pause-20-0001");
  spec_.set_servers(1);  // Onto another number of servers.
  StartTraining();
  const v1::HostJob host = server(0).Await(v1::ServerCommand::kHost).host();
  EXPECT_EQ(host.restore_from(), FolderOf("pause-20-0001"));
  EXPECT_FALSE(host.weights_only());
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
  PushFirstRound();
  EXPECT_TRUE(Outcome().status.ok()) << Outcome().status;
  EXPECT_FALSE(Outcome().paused);
  EXPECT_EQ(Outcome().checkpoint, "final-40-0002");
  EXPECT_EQ(Report()["samples"], 40);
  EXPECT_EQ(Report()["updates"], 2);
  EXPECT_EQ(Report()["seconds"], 3);
  const CheckpointManifest final = Verified("final-40-0002");
  EXPECT_EQ(final.files.size(), 1u);
  EXPECT_EQ(final.version, 2);
  // The one that it came from stays whole.
  Verified("pause-20-0001");
}

TEST_F(JobRunCheckpointTest, AnotherJobBeginsWithItsWeights) {
  PauseAfterARound();
  EndRun();
  spec_.set_initial_weights(FolderOf("pause-20-0001"));
  spec_.set_optimizer("adam");
  StartTraining();
  const v1::HostJob host = server(0).Await(v1::ServerCommand::kHost).host();
  EXPECT_EQ(host.restore_from(), FolderOf("pause-20-0001"));
  EXPECT_TRUE(host.weights_only());
  EXPECT_EQ(first_grants()[0].range().begin(), 0u);
  EXPECT_EQ(first_grants()[0].base_version(), 0);
  EXPECT_EQ(job_->Progress().samples(), 0);
  EXPECT_EQ(job_->Progress().seconds(), 0);
}

TEST_F(JobRunCheckpointTest, InitialWeightsOfAnotherModelAreRefused) {
  PauseAfterARound();
  EndRun();
  spec_.set_initial_weights(FolderOf("pause-20-0001"));
  MakeJob();
  v1::WorkerReady model = SmallModel(40);
  model.mutable_tensors(0)->set_name("another");
  for (const char* const name : {"w0", "w1"}) AddWorker(name).Enter(model);
  RunJob();
  EXPECT_TRUE(absl::IsFailedPrecondition(Outcome().status)) << Outcome().status;
  EXPECT_THAT(std::string(Outcome().status.message()),
              HasSubstr("have no tensor \"another\""));

  EndRun();
  spec_.set_initial_weights(FolderOf("none"));
  MakeJob();
  RunJob();
  EXPECT_TRUE(absl::IsNotFound(Outcome().status)) << Outcome().status;
  EXPECT_THAT(std::string(Outcome().status.message()),
              HasSubstr("the initial weights: "));
}

TEST_F(JobRunCheckpointTest, ADiskThatHangsDoesNotKeepAJobFromItsEnd) {
  const std::string folder = FolderOf("hangs");
  const auto moves = std::make_shared<absl::Notification>();
  ASSERT_TRUE(setup_.lanes
                  ->Put(LaneOf(folder),
                        [moves] {
                          moves->WaitForNotificationWithTimeout(
                              absl::Minutes(5));
                        })
                  .ok());
  spec_.set_initial_weights(folder);
  MakeJob();
  RunJob();
  job_->Cancel(absl::CancelledError("it hangs"));
  EXPECT_EQ(Outcome().status, absl::CancelledError("it hangs"));
  // What was asked is answered, and nobody hears it.
  moves->Notify();
}

// Nor left out: the second is due with the very last push of the first run.
TEST_F(JobRunCheckpointTest, APlannedSwitchIsMadeOnce) {
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
  EXPECT_THAT(Verified("pause-20-0001").spec_json,
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

TEST_F(JobRunCheckpointTest, OneThatIsMissingOrDamagedIsRefused) {
  setup_.restore_from = FolderOf("none");
  MakeJob();
  RunJob();
  EXPECT_TRUE(absl::IsNotFound(Outcome().status)) << Outcome().status;

  GoOnFrom("damaged");
  std::filesystem::create_directories(setup_.restore_from);
  std::ofstream(absl::StrCat(setup_.restore_from, "/", kManifestName))
      << "{\"format\": ";
  MakeJob();
  RunJob();
  EXPECT_TRUE(absl::IsDataLoss(Outcome().status)) << Outcome().status;
}

}  // namespace
}  // namespace paceline
