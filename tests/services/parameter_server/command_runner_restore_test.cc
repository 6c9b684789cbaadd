#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/checkpoint/manifest.h"
#include "services/parameter_server/optimizer_spec.h"
#include "tests/services/parameter_server/command_runner_testing.h"
#include "tests/services/parameter_server/job_shard_testing.h"
#include "tests/services/worker/data/scratch_folder.h"

namespace paceline {
namespace {

using absl::StatusCode;
using testing::ElementsAre;
using testing::HasSubstr;

// Runs 1 of `server`, trained, as a checkpoint in `folder`.
void Save(RunningShard& server, const std::string& folder,
          const std::string& optimizer) {
  ASSERT_TRUE(server.Run(HostCommand(1, optimizer)).has_done());
  JobShard& job = **server.shard.Job(1);
  ASSERT_TRUE(SetAll(job, 8).ok());
  ASSERT_TRUE(Push(job, PlainPush(1, 1, 10), 1).ok());
  ASSERT_TRUE(server.Run(WriteCommand(1, 2, 7, folder)).has_done());
  const v1::CheckpointWritten written = server.Next().checkpoint_written();
  ASSERT_EQ(written.code(), 0) << written.message();
  CheckpointManifest manifest;
  manifest.optimizer_slots = OptimizerSlotNames(*ParseOptimizerSpec(optimizer));
  manifest.tensors = {{.name = "w", .shape = {10}, .statistic = false}};
  manifest.blocks = {
      {.id = 10, .tensor = 0, .offset = 0, .size = 5, .file = 0},
      {.id = 11, .tensor = 0, .offset = 5, .size = 5, .file = 0}};
  manifest.files = {{written.file(), written.bytes(), written.sha256()}};
  ASSERT_TRUE(WriteManifest(folder, manifest).ok());
}

TEST(CommandRunnerRestoreTest, ARestoredRunGoesOnWhereItWas) {
  const ScratchFolder scratch;
  const std::string folder = scratch.path() + "/c";
  RunningShard before;
  Save(before, folder, "sgd:momentum=0.5");
  RunningShard after(scratch.path());
  // What comes meanwhile waits, in its order.
  after.runner.Run(HostCommand(5, "sgd:momentum=0.5", folder));
  v1::ServerCommand fence = Command(5, 2);
  fence.mutable_fence()->set_incarnation(3);
  after.runner.Run(fence);
  after.runner.Run(SnapshotCommand(5, 3, 1));
  for (uint64_t sequence = 1; sequence <= 3; ++sequence) {
    const v1::ServerMessage done = after.Next();
    EXPECT_EQ(done.done().sequence(), sequence) << done.ShortDebugString();
    EXPECT_EQ(done.run(), 5u);
  }
  JobShard& job = **after.shard.Job(5);
  EXPECT_THAT(ValuesNow(job), ElementsAre(7, 8));
  ASSERT_TRUE(Push(job, PlainPush(1, 1, 10), 0).ok());
  EXPECT_THAT(ValuesNow(job), ElementsAre(6.5f, 8)) << "it has its momentum";
}

TEST(CommandRunnerRestoreTest, WhatCannotBeRestoredFailsItsRunAlone) {
  const ScratchFolder scratch;
  const std::string folder = scratch.path() + "/c";
  RunningShard before;
  Save(before, folder, "sgd:momentum=0.5");
  RunningShard after(scratch.path());
  ASSERT_TRUE(after.Run(HostCommand(1)).has_done());
  struct Case {
    std::string folder;
    StatusCode code;
    const char* message;
  };
  const Case kCases[] = {
      {"/etc", StatusCode::kInvalidArgument, "does not lie within"},
      {scratch.path() + "/none", StatusCode::kNotFound, "no complete"},
      {folder, StatusCode::kFailedPrecondition, "another optimizer"},
  };
  uint64_t run = 10;
  for (const Case& c : kCases) {
    after.runner.Run(HostCommand(++run, "adam", c.folder));
    const v1::ServerMessage message = after.Next();
    EXPECT_EQ(message.run(), run);
    EXPECT_EQ(message.failed().code(), static_cast<int>(c.code))
        << message.ShortDebugString();
    EXPECT_THAT(message.failed().message(), HasSubstr(c.message));
    after.runner.Run(UnhostCommand(run, "it has failed"));
  }
  EXPECT_EQ(after.shard.Jobs().size(), 1u);
  EXPECT_TRUE(after.Run(CloseCommand(1, 2, 1)).has_done());
}

TEST(CommandRunnerRestoreTest, UnhostAndEndCancelIt) {
  const ScratchFolder scratch;
  const std::string folder = scratch.path() + "/c";
  RunningShard before;
  Save(before, folder, "sgd");
  for (int i = 0; i < 50; ++i) {
    RunningShard after;
    after.runner.Run(HostCommand(5, "sgd", folder));
    if (i % 2 == 0) {
      after.runner.Run(UnhostCommand(5, "changed my mind"));
    } else {
      after.runner.End("the coordinator is gone");
    }
    EXPECT_TRUE(after.shard.Jobs().empty());
    // It may have been done just before, but never after.
    const auto answer = after.answers.Take(absl::ZeroDuration());
    EXPECT_TRUE(!answer.ok() || answer->has_done());
    if (i % 2 == 1) continue;
    after.runner.Run(HostCommand(5, "sgd"));
    EXPECT_EQ(after.Next().done().sequence(), 1u)
        << "the number may be used again";
    EXPECT_FALSE(ValuesAreSet(**after.shard.Job(5)));
  }
}

}  // namespace
}  // namespace paceline
