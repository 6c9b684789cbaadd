// Checkpoints of a run: on request, at intervals, at the end, and failing ones.

#include <filesystem>
#include <string>
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

class JobRunCheckpointTest : public JobRunTest {
 protected:
  JobRunCheckpointTest() {
    KeepCheckpoints();
    // The clock is for intervals here.
    setup_.lease = absl::Hours(1);
  }

  // Both workers push what they were granted first, and are granted the rest.
  void PushFirstRound() {
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_TRUE(worker(i).SayPushed(first_grants()[i]).ok());
    }
    for (size_t i = 0; i < 2; ++i) {
      second_grants_.push_back(worker(i).Next(Kind::kGrant).grant());
    }
  }
  void PushSecondRound() {
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_TRUE(worker(i).SayPushed(second_grants_[i]).ok());
    }
  }

  // "mine WRITING", as they were told.
  std::vector<std::string> Told() const {
    std::vector<std::string> told;
    for (const v1::Checkpoint& checkpoint : History().checkpoints) {
      told.push_back(
          absl::StrCat(checkpoint.name(), " ",
                       v1::Checkpoint::State_Name(checkpoint.state())));
    }
    return told;
  }

  // The manifest of a checkpoint that has no fault.
  CheckpointManifest Verified(const std::string& id) const {
    const auto report = VerifyCheckpoint(FolderOf(id));
    EXPECT_TRUE(report.ok()) << report.status();
    if (!report.ok()) return {};
    EXPECT_THAT(report->problems, IsEmpty());
    return report->manifest;
  }

  std::vector<v1::Grant> second_grants_;
};

TEST_F(JobRunCheckpointTest, IsWrittenWhileTheJobTrains) {
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

  PushSecondRound();
  WorkToTheEnd();
  EXPECT_TRUE(Outcome().status.ok()) << Outcome().status;
  // Another one, exact, is made of the result.
  EXPECT_EQ(Outcome().checkpoint, "final-40-0001");
  EXPECT_THAT(Told(),
              ElementsAre("mine WRITING", "mine READY", "final-40-0001 WRITING",
                          "final-40-0001 READY"));
  EXPECT_TRUE(History().checkpoints.back().exact());
  EXPECT_TRUE(Verified("final-40-0001").exact);
}

// What lies in a round that is not closed is in no weight.
TEST_F(JobRunCheckpointTest, APushInAnOpenRoundIsStillToBeCounted) {
  StartTraining();
  EXPECT_TRUE(worker(0).SayPushed(first_grants()[0]).ok());
  EXPECT_TRUE(job_->WriteCheckpoint("mine").ok());
  const v1::Checkpoint ready = AwaitCheckpoint("mine", v1::Checkpoint::READY);
  EXPECT_EQ(ready.samples(), 0);
  EXPECT_EQ(ready.version(), 0);
  EXPECT_EQ(job_->Progress().samples(), 10);
}

TEST_F(JobRunCheckpointTest, IsWrittenBetweenTheClosings) {
  StartTraining();
  PushFirstRound();
  EXPECT_TRUE(job_->WriteCheckpoint("mine").ok());
  PushSecondRound();
  WorkToTheEnd();
  EXPECT_TRUE(Outcome().status.ok());
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

TEST_F(JobRunCheckpointTest, OneAtATime) {
  StartTraining();
  server(0).HoldCheckpoints();
  EXPECT_TRUE(job_->WriteCheckpoint("mine").ok());
  AwaitCheckpoint("mine", v1::Checkpoint::WRITING);
  const absl::Status busy = job_->WriteCheckpoint("other");
  EXPECT_TRUE(absl::IsFailedPrecondition(busy));
  EXPECT_THAT(busy.ToString(), HasSubstr("is being written"));
  // The training does not wait for it.
  PushFirstRound();
  server(0).WriteHeld();
  const v1::Checkpoint ready = AwaitCheckpoint("mine", v1::Checkpoint::READY);
  EXPECT_EQ(ready.version(), 0);
  EXPECT_TRUE(job_->WriteCheckpoint("other").ok());
  AwaitCheckpoint("other", v1::Checkpoint::READY);
}

TEST_F(JobRunCheckpointTest, ARunThatEndsLeavesNoneWriting) {
  StartTraining();
  server(0).HoldCheckpoints();
  EXPECT_TRUE(job_->WriteCheckpoint("mine").ok());
  AwaitCheckpoint("mine", v1::Checkpoint::WRITING);
  job_->Cancel(absl::CancelledError("by an admin"));
  const v1::Checkpoint failed = AwaitCheckpoint("mine", v1::Checkpoint::FAILED);
  EXPECT_EQ(failed.state_reason(), "by an admin");
  EXPECT_TRUE(absl::IsCancelled(Outcome().status));
}

TEST_F(JobRunCheckpointTest, IsGivenUpWhereADiskHangs) {
  StartTraining();
  server(0).HoldCheckpoints();
  EXPECT_TRUE(job_->WriteCheckpoint("mine").ok());
  AwaitCheckpoint("mine", v1::Checkpoint::WRITING);
  clock_.Advance(absl::Minutes(31));
  const v1::Checkpoint failed = AwaitCheckpoint("mine", v1::Checkpoint::FAILED);
  EXPECT_THAT(failed.state_reason(), HasSubstr("not written in time by s0"));
  server(0).WriteHeld();
  EXPECT_TRUE(job_->WriteCheckpoint("other").ok());
  AwaitCheckpoint("other", v1::Checkpoint::READY);
}

TEST_F(JobRunCheckpointTest, OnlyWhileItTrains) {
  Assemble();
  worker(0).Next(Kind::kBegin);
  const absl::Status early = job_->WriteCheckpoint("mine");
  EXPECT_TRUE(absl::IsFailedPrecondition(early));
  EXPECT_THAT(early.ToString(), HasSubstr("does not train right now"));
  EXPECT_TRUE(worker(0).SayInitialized().ok());
  WorkToTheEnd();
  EXPECT_TRUE(Outcome().status.ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(job_->WriteCheckpoint("mine")));
}

TEST_F(JobRunCheckpointTest, NeedsAFolder) {
  setup_.checkpoint_root.clear();
  StartTraining();
  const absl::Status status = job_->WriteCheckpoint("mine");
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(status.ToString(), HasSubstr("--checkpoints DIR"));
}

TEST_F(JobRunCheckpointTest, AServerThatCannotWriteFailsItButNotTheJob) {
  StartTraining();
  server(1).FailCheckpoints(
      absl::ResourceExhaustedError("no space left on the device"));
  EXPECT_TRUE(job_->WriteCheckpoint("mine").ok());
  const v1::Checkpoint failed = AwaitCheckpoint("mine", v1::Checkpoint::FAILED);
  EXPECT_EQ(failed.state_reason(), "s1: no space left on the device");
  EXPECT_FALSE(std::filesystem::exists(FolderOf("mine")));
  PushFirstRound();
  server(1).FailCheckpoints(absl::OkStatus());
  EXPECT_TRUE(job_->WriteCheckpoint("mine").ok());
  AwaitCheckpoint("mine", v1::Checkpoint::READY);
  PushSecondRound();
  WorkToTheEnd();
  EXPECT_TRUE(Outcome().status.ok());
  EXPECT_EQ(Outcome().checkpoint, "final-40-0001");
}

TEST_F(JobRunCheckpointTest, AResultThatCannotBeSavedFailsTheJob) {
  StartTraining();
  server(0).FailCheckpoints(absl::ResourceExhaustedError("the disk is full"));
  PushFirstRound();
  PushSecondRound();
  WorkToTheEnd();
  EXPECT_EQ(Outcome().status,
            absl::ResourceExhaustedError(
                "the trained weights could not be saved: s0: the disk is "
                "full"));
  EXPECT_EQ(Outcome().checkpoint, "");
}

// One that was asked for just before the end is waited for; the result is saved
// beside it.
TEST_F(JobRunCheckpointTest, TheEndWaitsForTheOneBeingWritten) {
  StartTraining();
  PushFirstRound();
  server(0).HoldCheckpoints();
  EXPECT_TRUE(job_->WriteCheckpoint("mine").ok());
  PushSecondRound();
  server(0).Await(v1::ServerCommand::kWriteCheckpoint);
  server(0).WriteHeld();
  WorkToTheEnd();
  EXPECT_TRUE(Outcome().status.ok());
  EXPECT_THAT(Told(),
              ElementsAre("mine WRITING", "mine READY", "final-40-0001 WRITING",
                          "final-40-0001 READY"));
}

TEST_F(JobRunCheckpointTest, AServerThatIsLostMeanwhileFailsTheJob) {
  StartTraining();
  server(0).HoldCheckpoints();
  EXPECT_TRUE(job_->WriteCheckpoint("mine").ok());
  job_->OnServerDisconnected(server(0).member());
  EXPECT_TRUE(absl::IsUnavailable(Outcome().status));
  EXPECT_EQ(Outcome().checkpoint, "");
}

TEST_F(JobRunCheckpointTest, EveryIntervalByTheClock) {
  spec_.mutable_checkpoints()->mutable_interval()->set_seconds(30);
  StartTraining();
  clock_.Advance(absl::Seconds(29));
  PushFirstRound();
  EXPECT_TRUE(job_->WriteCheckpoint("mine").ok());  // Does not put it off.
  AwaitCheckpoint("mine", v1::Checkpoint::READY);
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(AwaitCheckpoint("auto-20-0001", v1::Checkpoint::READY).version(),
            1);
  clock_.Advance(absl::Seconds(29));
  EXPECT_TRUE(worker(0).SayPushed(second_grants_[0]).ok());
  clock_.Advance(absl::Seconds(1));
  AwaitCheckpoint("auto-30-0001", v1::Checkpoint::READY);
  EXPECT_THAT(Told(),
              ElementsAre("mine WRITING", "mine READY", "auto-20-0001 WRITING",
                          "auto-20-0001 READY", "auto-30-0001 WRITING",
                          "auto-30-0001 READY"));
}

// It would be written over the one that is there, which must stay whole.
TEST_F(JobRunCheckpointTest, NoneIsDueWhileNothingIsCounted) {
  spec_.mutable_checkpoints()->mutable_interval()->set_seconds(30);
  StartTraining();
  clock_.Advance(absl::Seconds(30));
  AwaitCheckpoint("auto-0-0001", v1::Checkpoint::READY);
  clock_.Advance(absl::Seconds(30));
  EXPECT_TRUE(worker(0).SayHeartbeat().ok());
  EXPECT_TRUE(job_->WriteCheckpoint("mine").ok());
  AwaitCheckpoint("mine", v1::Checkpoint::READY);
  EXPECT_THAT(Told(), ElementsAre("auto-0-0001 WRITING", "auto-0-0001 READY",
                                  "mine WRITING", "mine READY"));
}

TEST_F(JobRunCheckpointTest, OtherUpdatesDoNotPutItOff) {
  spec_.mutable_checkpoints()->mutable_interval()->set_seconds(30);
  StartTraining();
  clock_.Advance(absl::Seconds(20));
  spec_.set_learning_rate(0.25);
  job_->Update(*ParseJob(spec_));
  clock_.Advance(absl::Seconds(10));
  AwaitCheckpoint("auto-0-0001", v1::Checkpoint::READY);
}

TEST_F(JobRunCheckpointTest, TheIntervalCanBeSetLater) {
  StartTraining();
  spec_.mutable_checkpoints()->mutable_interval()->set_seconds(1);
  job_->Update(*ParseJob(spec_));
  clock_.Advance(absl::Seconds(1));
  AwaitCheckpoint("auto-0-0001", v1::Checkpoint::READY);
}

}  // namespace
}  // namespace paceline
