// Checkpoints that callers ask for.

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/manifest.h"
#include "gmock/gmock.h"
#include "tests/common/security/eventually.h"
#include "tests/services/coordinator/control/jobs_testing.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;

constexpr char kRequestId[] = "6f1d1c7e-5d0c-4c57-9c3a-1f0a2b3c4d5e";

class JobsCheckpointsTest : public JobsTest {
 protected:
  absl::StatusOr<v1::Checkpoint> Ask(const std::string& job,
                                     const std::string& id) {
    v1::CreateCheckpointRequest request;
    request.set_parent(job);
    request.set_checkpoint_id(id);
    request.set_request_id(kRequestId);
    return jobs().CreateCheckpoint(request, "test");
  }

  std::vector<std::string> Names(const std::string& job) {
    v1::ListCheckpointsRequest request;
    request.set_parent(job);
    const auto listed = jobs().ListCheckpoints(request);
    EXPECT_TRUE(listed.ok()) << listed.status();
    std::vector<std::string> names;
    for (const v1::Checkpoint& checkpoint : listed->checkpoints()) {
      names.push_back(checkpoint.name());
    }
    return names;
  }
};

TEST_F(JobsCheckpointsTest, TheSameRequestAgainGivesTheSameCheckpoint) {
  const std::string job = StartAndRun("a");
  ASSERT_TRUE(Ask(job, "c").ok());
  const auto again = Ask(job, "c");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->name(), job + "/checkpoints/c");
  EXPECT_THAT(Names(job), ElementsAre(again->name()));
}

// Nothing has begun that the caller was not told of.
TEST_F(JobsCheckpointsTest, WhatCouldNotBeStoredCanBeAskedForAgain) {
  StartWithMembers();
  server().HoldCheckpoints();
  const std::string job = Run("a");
  HoldStore();
  const absl::Status refused = Ask(job, "c").status();
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  ReleaseStore();
  const auto made = Ask(job, "c");
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->state(), v1::Checkpoint::WRITING);
}

TEST_F(JobsCheckpointsTest, OneThatTheRunRefusesLeavesNothing) {
  StartWithMembers();
  server().HoldCheckpoints();
  const std::string job = Run("a");
  const auto watcher = Watch(job);
  const std::string first = BeginCheckpoint(job, "first");
  const absl::Status refused = Ask(job, "second").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(Names(job), ElementsAre(first));
  server().WriteHeld();
  watcher->AwaitCheckpoint(v1::Checkpoint::READY);
  const auto second = Ask(job, "second");
  EXPECT_TRUE(second.ok()) << second.status();
}

TEST_F(JobsCheckpointsTest, OldFailuresAreForgotten) {
  const std::string job = StartAndRun("a");
  const auto watcher = Watch(job);
  server().FailCheckpoints(absl::ResourceExhaustedError("the disk is full"));
  for (int i = 0; i < 13; ++i) {
    BeginCheckpoint(job, absl::StrCat("c", i));
    watcher->AwaitCheckpoint(v1::Checkpoint::FAILED);
  }
  EXPECT_TRUE(Eventually([&] { return Names(job).size() == 10; }));
  EXPECT_EQ(Names(job)[0], job + "/checkpoints/c12");
}

// One was made while the machine's clock was an hour ahead.
TEST_F(JobsCheckpointsTest, TheNewestIsTheLastThoughTheClockWasSetBack) {
  const std::string job = StartAndRun("a");
  v1::GetCheckpointRequest get;
  get.set_name(SaveCheckpoint(job, "before"));
  auto before = jobs().GetCheckpoint(get);
  ASSERT_TRUE(before.ok()) << before.status();
  before->mutable_create_time()->set_seconds(before->create_time().seconds() +
                                             3600);
  ASSERT_TRUE(store_->PutCheckpoint(Get(job).uid(), *before).ok());

  const std::string after = SaveCheckpoint(job, "after");
  EXPECT_THAT(Names(job), ElementsAre(after, before->name()));
}

TEST_F(JobsCheckpointsTest, ItsFilesAreReadInParts) {
  const std::string job = StartAndRun("a");
  v1::ReadCheckpointRequest request;
  request.set_name(SaveCheckpoint(job, "c"));
  request.set_file("manifest.json");
  const auto whole = jobs().ReadCheckpoint(request);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(whole->file_bytes(), static_cast<int64_t>(whole->data().size()));
  EXPECT_TRUE(ParseManifest(whole->data()).ok());
  request.set_offset(10);
  EXPECT_EQ(jobs().ReadCheckpoint(request)->data(), whole->data().substr(10));
  request.set_offset(whole->file_bytes());
  EXPECT_EQ(jobs().ReadCheckpoint(request)->data(), "");
  request.set_offset(whole->file_bytes() + 1);
  EXPECT_TRUE(absl::IsOutOfRange(jobs().ReadCheckpoint(request).status()));
  request.set_offset(0);
  request.set_file("server-7-of-8.safetensors");
  EXPECT_TRUE(absl::IsNotFound(jobs().ReadCheckpoint(request).status()));
}

TEST_F(JobsCheckpointsTest, NothingBesideItsFilesIsRead) {
  const std::string job = StartAndRun("a");
  v1::ReadCheckpointRequest request;
  request.set_name(SaveCheckpoint(job, "c"));
  v1::GetCheckpointRequest get;
  get.set_name(request.name());
  const std::string directory = jobs().GetCheckpoint(get)->directory();
  std::ofstream(directory + "/../secret.safetensors") << "secret";
  std::filesystem::create_symlink(directory + "/../secret.safetensors",
                                  directory + "/link.safetensors");
  for (const char* const file :
       {"", "..", "../secret.safetensors", "/etc/passwd", "notes.txt",
        "link.safetensors"}) {
    request.set_file(file);
    EXPECT_TRUE(
        absl::IsInvalidArgument(jobs().ReadCheckpoint(request).status()))
        << file;
  }
  request.set_file("manifest.json");
  request.set_offset(-1);
  EXPECT_TRUE(absl::IsInvalidArgument(jobs().ReadCheckpoint(request).status()));
}

// A file that is not ours is in the folder, which so cannot be deleted.
TEST_F(JobsCheckpointsTest, WhatIsPartlyDeletedIsReadyNoMore) {
  const std::string job = StartAndRun("a");
  const std::string name = SaveCheckpoint(job, "c");
  const std::string newest = SaveCheckpoint(job, "d");  // It goes on from here.
  v1::GetCheckpointRequest get;
  get.set_name(name);
  const auto saved = jobs().GetCheckpoint(get);
  ASSERT_TRUE(saved.ok()) << saved.status();
  std::ofstream(saved->directory() + "/notes.txt") << "mine";
  v1::DeleteCheckpointRequest request;
  request.set_name(name);
  EXPECT_FALSE(jobs().DeleteCheckpoint(request).ok());
  EXPECT_EQ(jobs().GetCheckpoint(get)->state(), v1::Checkpoint::FAILED);
  std::filesystem::remove(saved->directory() + "/notes.txt");
  EXPECT_TRUE(jobs().DeleteCheckpoint(request).ok());
  EXPECT_THAT(Names(job), ElementsAre(newest));
}

TEST_F(JobsCheckpointsTest, ADeletedJobLeavesNoFolder) {
  const std::string job = StartAndRun("a");
  SaveCheckpoint(job, "c");
  const std::string folder = options_.checkpoint_root + "/" + Get(job).uid();
  EXPECT_TRUE(std::filesystem::exists(folder));
  const auto watcher = Watch(job);
  ASSERT_TRUE(Cancel(job).ok());
  EXPECT_TRUE(watcher->AwaitEnd().ok());
  v1::DeleteJobRequest request;
  request.set_name(job);
  const absl::Status deleted = jobs().DeleteJob(request);
  ASSERT_TRUE(deleted.ok()) << deleted;
  EXPECT_FALSE(std::filesystem::exists(folder));
}

}  // namespace
}  // namespace paceline
