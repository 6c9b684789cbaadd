#include "services/parameter_server/command_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "common/checkpoint/manifest.h"
#include "common/job/optimizer_spec.h"
#include "common/safetensors/safetensors_reader.h"
#include "services/parameter_server/from_wire.h"
#include "tests/services/parameter_server/command_runner_testing.h"
#include "tests/services/parameter_server/job_shard_testing.h"
#include "tests/services/worker/data/scratch_folder.h"

namespace paceline {
namespace {

using absl::StatusCode;
using testing::HasSubstr;

int Code(StatusCode code) { return static_cast<int>(code); }

void ExpectDone(const v1::ServerMessage& message, uint64_t run,
                uint64_t sequence) {
  EXPECT_TRUE(message.has_done()) << message.ShortDebugString();
  EXPECT_EQ(message.run(), run);
  EXPECT_EQ(message.done().sequence(), sequence);
}

void ExpectFailed(const v1::ServerMessage& message, uint64_t run,
                  StatusCode code, const std::string& text) {
  EXPECT_TRUE(message.has_failed()) << message.ShortDebugString();
  EXPECT_EQ(message.run(), run);
  EXPECT_EQ(message.failed().code(), Code(code));
  EXPECT_THAT(message.failed().message(), HasSubstr(text));
}

TEST(CommandRunnerTest, CommandsAreNumberedRunByRun) {
  RunningShard server;
  ExpectDone(server.Run(HostCommand(1)), 1, 1);
  ExpectDone(server.Run(HostCommand(2)), 2, 1);
  ASSERT_TRUE(SetAll(**server.shard.Job(1), 0).ok());
  ASSERT_TRUE(SetAll(**server.shard.Job(2), 0).ok());
  ExpectDone(server.Run(CloseCommand(1, 2, 1)), 1, 2);
  const v1::ServerMessage empty = server.Run(CloseCommand(1, 3, 2));
  ExpectDone(empty, 1, 3);
  EXPECT_FALSE(empty.done().has_mean_gradient()) << "nothing was pushed";
  ExpectDone(server.Run(CloseCommand(2, 2, 1)), 2, 2);
  ASSERT_TRUE(Push(**server.shard.Job(2), PlainPush(5, 1, 10), 1).ok());
  v1::ServerCommand fence = Command(2, 3);
  fence.mutable_fence()->set_incarnation(5);
  const v1::ServerMessage answer = server.Run(fence);
  ExpectDone(answer, 2, 3);
  EXPECT_EQ(answer.done().fence().blocks_taken(), 1u);
  EXPECT_EQ(answer.done().fence().blocks(), 2u);
}

// Two runs, the first of which has a closing that ends when it is let.
class SlowClosingTest : public ::testing::Test {
 protected:
  SlowClosingTest() {
    for (const uint64_t run : {1, 2}) {
      ExpectDone(server_.Run(HostCommand(run)), run, 1);
      EXPECT_TRUE(SetAll(**server_.shard.Job(run), 0).ok());
    }
    // Whoever waits for a closing is served as a part of it.
    (*server_.shard.Job(1))
        ->Pull({.incarnation = 5, .deadline = absl::InfiniteFuture()}, 1,
               [this](const absl::StatusOr<PulledBlocks>&) {
                 begun_.Notify();
                 let_.WaitForNotification();
               });
    server_.runner.Run(CloseCommand(1, 2, 1));
    begun_.WaitForNotification();
  }
  ~SlowClosingTest() override {
    if (!let_.HasBeenNotified()) let_.Notify();
  }

  absl::Notification begun_;
  absl::Notification let_;
  RunningShard server_;
};

TEST_F(SlowClosingTest, HoldsUpItsOwnRunAlone) {
  server_.runner.Run(SnapshotCommand(1, 3, 1));
  ExpectDone(server_.Run(CloseCommand(2, 2, 1)), 2, 2);
  ExpectDone(server_.Run(SnapshotCommand(2, 3, 1)), 2, 3);
  EXPECT_TRUE(server_.Quiet());
  let_.Notify();
  ExpectDone(server_.Next(), 1, 2);
  ExpectDone(server_.Next(), 1, 3);
}

TEST_F(SlowClosingTest, ACommandThatDoesNotFollowFailsBehindIt) {
  server_.runner.Run(CloseCommand(1, 9, 2));
  server_.runner.Run(SnapshotCommand(1, 3, 1));
  EXPECT_TRUE(server_.Quiet());
  let_.Notify();
  ExpectDone(server_.Next(), 1, 2);
  ExpectFailed(server_.Next(), 1, StatusCode::kFailedPrecondition,
               "command 9 came after command 2");
  ExpectDone(server_.Run(CloseCommand(2, 2, 1)), 2, 2);
  EXPECT_TRUE(server_.Quiet());
}

TEST_F(SlowClosingTest, ARunThatEndsMeanwhileIsWaitedFor) {
  absl::Notification stopped;
  (*server_.shard.Job(1))
      ->Pull({.incarnation = 6, .deadline = absl::InfiniteFuture()}, 2,
             [&](const absl::StatusOr<PulledBlocks>& pulled) {
               EXPECT_TRUE(absl::IsUnavailable(pulled.status()));
               stopped.Notify();
             });
  std::thread ends(
      [this] { server_.runner.Run(UnhostCommand(1, "cancelled")); });
  stopped.WaitForNotification();
  ExpectDone(server_.Run(CloseCommand(2, 2, 1)), 2, 2);
  let_.Notify();
  ends.join();
  EXPECT_TRUE(server_.Quiet());
}

TEST(CommandRunnerTest, AFailedRunLeavesTheOthersAlone) {
  RunningShard server;
  ExpectDone(server.Run(HostCommand(1)), 1, 1);
  ExpectDone(server.Run(HostCommand(2)), 2, 1);
  ExpectFailed(server.Run(CloseCommand(1, 5, 1)), 1,
               StatusCode::kFailedPrecondition,
               "command 5 came after command 1");
  server.runner.Run(CloseCommand(1, 2, 1));
  EXPECT_TRUE(server.Quiet()) << "a failed run hears and says nothing more";
  ExpectDone(server.Run(CloseCommand(2, 2, 1)), 2, 2);
  server.runner.Run(UnhostCommand(1, "it has failed"));
  EXPECT_EQ(server.shard.Jobs().size(), 1u);
  ExpectDone(server.Run(HostCommand(1, "adam")), 1, 1);
  ExpectDone(server.Run(CloseCommand(1, 2, 1)), 1, 2);
}

TEST(CommandRunnerTest, WhatFailsSaysWhy) {
  RunningShard server;
  v1::ServerCommand host = HostCommand(1);
  host.set_sequence(3);
  ExpectFailed(server.Run(host), 1, StatusCode::kInvalidArgument,
               "host is command 1");
  ExpectFailed(server.Run(HostCommand(2, "lion")), 2,
               StatusCode::kInvalidArgument, "unknown optimizer");
  ExpectDone(server.Run(HostCommand(3)), 3, 1);
  ExpectFailed(server.Run(Command(3, 2)), 3, StatusCode::kInvalidArgument,
               "that is no command");
  ExpectFailed(server.Run(HostCommand(0)), 0, StatusCode::kInvalidArgument,
               "number above 0");
  ExpectDone(server.Run(HostCommand(5)), 5, 1);
  ExpectFailed(server.Run(HostCommand(5)), 5, StatusCode::kFailedPrecondition,
               "run 5 is hosted here already");
  server.runner.Refuse();
  ExpectFailed(server.Run(HostCommand(4)), 4, StatusCode::kUnavailable,
               "the server is stopping");
}

// The release of the last snapshot may come after the end of the run.
TEST(CommandRunnerTest, ACommandOfARunThatIsOverIsDropped) {
  RunningShard server;
  ExpectDone(server.Run(HostCommand(1)), 1, 1);
  server.runner.Run(UnhostCommand(1, "the job has ended"));
  v1::ServerCommand release = Command(1, 2);
  release.mutable_release_snapshot()->set_snapshot(7);
  server.runner.Run(release);
  EXPECT_TRUE(server.Quiet());
  ExpectDone(server.Run(HostCommand(1)), 1, 1);
  ExpectDone(server.Run(CloseCommand(1, 2, 1)), 1, 2);
}

TEST(CommandRunnerTest, UnhostEndsPullsAndDropAllDropsEverything) {
  RunningShard server;
  ExpectDone(server.Run(HostCommand(1)), 1, 1);
  ExpectDone(server.Run(HostCommand(2)), 2, 1);
  PullResult pulls[2];
  for (int i = 0; i < 2; ++i) {
    (*server.shard.Job(1 + i))
        ->Pull({.deadline = absl::InfiniteFuture()}, 0, pulls[i].callback());
  }
  server.runner.Run(UnhostCommand(1, "the job is paused"));
  EXPECT_EQ(pulls[0].status(), absl::UnavailableError("the job is paused"));
  EXPECT_EQ(pulls[1].calls(), 0);
  server.runner.Run(UnhostCommand(1, "twice"));
  server.runner.Begin(nullptr);
  server.runner.DropAll("the coordinator is gone");
  EXPECT_EQ(pulls[1].status(),
            absl::UnavailableError("the coordinator is gone"));
  EXPECT_TRUE(server.shard.Jobs().empty());
  server.runner.Run(HostCommand(1));
  EXPECT_TRUE(server.Quiet()) << "there is nobody to answer";
}

TEST(CommandRunnerTest, ACheckpointIsWrittenBesideTheTraining) {
  const ScratchFolder scratch;
  RunningShard server(scratch.path());
  ExpectDone(server.Run(HostCommand(1, "sgd:momentum=0.5")), 1, 1);
  JobShard& job = **server.shard.Job(1);
  ASSERT_TRUE(SetAll(job, 3).ok());
  const std::string folder = scratch.path() + "/jobs/j/c1";
  ExpectDone(server.Run(WriteCommand(1, 2, 7, folder)), 1, 2);
  ASSERT_TRUE(Push(job, PlainPush(1, 1, 10), 1).ok());
  ExpectDone(server.Run(CloseCommand(1, 3, 1)), 1, 3);
  const v1::ServerMessage message = server.Next();
  ASSERT_TRUE(message.has_checkpoint_written()) << message.ShortDebugString();
  const v1::CheckpointWritten& written = message.checkpoint_written();
  EXPECT_EQ(message.run(), 1u);
  EXPECT_EQ(written.code(), 0) << written.message();
  EXPECT_EQ(written.snapshot(), 7);
  EXPECT_EQ(written.file(), "server-0-of-1.safetensors");
  const auto file = SafetensorsReader::Open(folder + "/" + written.file());
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->file_bytes(), written.bytes());
  EXPECT_EQ(file->Digest([] { return false; })->sha256, written.sha256());
  float first = 0;
  ASSERT_TRUE(file->Read(*file->Find("w/0"), 0,
                         absl::MakeSpan(reinterpret_cast<char*>(&first), 4))
                  .ok());
  EXPECT_EQ(first, 3) << "as it was at the command";
  EXPECT_EQ(server.metrics.checkpoints.Value(), 1);
  EXPECT_EQ(server.metrics.checkpoint_failures.Value(), 0);
  EXPECT_EQ(server.metrics.checkpoint_bytes.Value(), written.bytes());
  EXPECT_GT(server.metrics.checkpoint_last_success.Value(), 0);
}

TEST(CommandRunnerTest, WhatIsAnnouncedIsDrainedAndNotAnswered) {
  RunningShard server;
  ExpectDone(server.Run(HostCommand(1)), 1, 1);
  JobShard& job = **server.shard.Job(1);
  ASSERT_TRUE(SetAll(job, 0).ok());
  server.runner.Run(AnnounceCommand(1, 1));
  ASSERT_TRUE(PushAndDrain(job, RoundPush(1, 1, 10, 7), 1).ok());
  EXPECT_THAT(ValuesNow(job), testing::ElementsAre(-1, 0));
  EXPECT_TRUE(server.Quiet());
  v1::ServerCommand wrong = AnnounceCommand(1, 1);
  wrong.mutable_announce()->set_rate(-1);
  ExpectFailed(server.Run(wrong), 1, StatusCode::kInvalidArgument, "the rate");
}

// Its answer was lost, and a block has gone on since: what was written the
// first time cannot be written again.
TEST(CommandRunnerTest, ARepeatedCheckpointIsOfTheWeightsThatWereOrdered) {
  const ScratchFolder scratch;
  RunningShard server(scratch.path());
  ExpectDone(server.Run(HostCommand(1)), 1, 1);
  JobShard& job = **server.shard.Job(1);
  ASSERT_TRUE(SetAll(job, 0).ok());
  const v1::ServerCommand write = WriteCommand(1, 2, 7, scratch.path() + "/c");
  const auto written = [&] {
    ExpectDone(server.Run(write), 1, 2);
    return server.Next().checkpoint_written().code();
  };
  EXPECT_EQ(written(), 0);
  server.runner.Run(AnnounceCommand(1, 1));
  EXPECT_EQ(written(), 0) << "nothing has come since";
  server.runner.Run(AnnounceCommand(1, 1));
  ASSERT_TRUE(PushAndDrain(job, RoundPush(1, 1, 10, 7), 1).ok());
  EXPECT_EQ(written(), Code(StatusCode::kUnavailable));
  // It is no failure of the shard.
  ASSERT_TRUE(PushAndDrain(job, RoundPush(1, 1, 11, 7), 1).ok());
  v1::ServerCommand close = CloseCommand(1, 3, 1);
  close.mutable_close()->add_rounds(7);
  ExpectDone(server.Run(close), 1, 3);
  EXPECT_THAT(ValuesNow(job), testing::ElementsAre(-1, -1));
  EXPECT_EQ(written(), Code(StatusCode::kUnavailable)) << "of the next closing";
}

// A coordinator that has begun anew asks again for what is being written, and
// meanwhile the weights have moved without a closing.
TEST(CommandRunnerTest, ACheckpointThatIsBeingWrittenIsNotWrittenTwice) {
  const ScratchFolder scratch;
  RunningShard server(scratch.path());
  ExpectDone(server.Run(HostCommand(1)), 1, 1);
  JobShard& job = **server.shard.Job(1);
  ASSERT_TRUE(SetAll(job, 0).ok());
  int once = 0;  // Some may have been written before they were asked for again.
  for (uint64_t i = 1; i <= 20; ++i) {
    const v1::ServerCommand write =
        WriteCommand(1, i + 1, static_cast<int64_t>(i),
                     absl::StrCat(scratch.path(), "/", i));
    server.runner.Run(write);
    ASSERT_TRUE(Push(job, PlainPush(1, static_cast<int64_t>(i), 10), 1).ok());
    server.runner.Run(write);
    int done = 0;
    int written = 0;
    const auto take = [&](absl::Duration within) {
      const auto answer = server.answers.Take(within);
      if (!answer.ok()) return false;
      done += answer->has_done();
      written += answer->has_checkpoint_written();
      return true;
    };
    while (done < 2 || written == 0) ASSERT_TRUE(take(absl::Seconds(30)));
    while (take(absl::Milliseconds(20))) {
    }
    once += written == 1;
  }
  EXPECT_GT(once, 0);
}

// The coordinator drops the evaluation; the training goes on.
TEST(CommandRunnerTest, ASnapshotThatFindsNoRoomSaysSo) {
  RunningShard server;
  ExpectDone(server.Run(HostCommand(1)), 1, 1);
  ASSERT_TRUE(SetAll(**server.shard.Job(1), 0).ok());
  const auto limits = (*server.shard.Job(1))->config().limits;
  uint64_t next = 2;
  for (; next < 2 + limits.max_snapshots; ++next) {
    server.runner.Run(SnapshotCommand(1, next, static_cast<int64_t>(next)));
    EXPECT_EQ(server.Next().done().code(), 0);
  }
  const v1::ServerMessage refused =
      server.Run(SnapshotCommand(1, next, static_cast<int64_t>(next)));
  ExpectDone(refused, 1, next);
  EXPECT_EQ(refused.done().code(), Code(StatusCode::kResourceExhausted));
  EXPECT_THAT(refused.done().message(), HasSubstr("the most allowed"));
  ++next;
  const v1::ServerMessage closed = server.Run(CloseCommand(1, next, 1));
  ExpectDone(closed, 1, next);
  EXPECT_EQ(closed.done().code(), 0);
}

// Whoever has heard nothing of it would ask for ever.
TEST(CommandRunnerTest, ARefusedSnapshotIsRepeatedAsRefused) {
  RunningShard server;
  ExpectDone(server.Run(HostCommand(1)), 1, 1);
  ASSERT_TRUE(SetAll(**server.shard.Job(1), 0).ok());
  for (int repeated = 0; repeated < 2; ++repeated) {
    EXPECT_EQ(server.Run(SnapshotCommand(1, 2, 5)).done().code(), 0);
  }
  EXPECT_EQ(server.Run(SnapshotCommand(1, 2, 6)).done().code(),
            Code(StatusCode::kResourceExhausted));
}

// A checkpoint that cannot be written is told of, and the run goes on.
TEST(CommandRunnerTest, AFailedCheckpointFailsNothingElse) {
  const ScratchFolder scratch;
  const std::string in = scratch.path() + "/c";
  std::filesystem::create_directories(scratch.path() + "/file");
  scratch.Write("plain", {'x'});
  RunningShard server(scratch.path());
  ExpectDone(server.Run(HostCommand(1)), 1, 1);
  JobShard& job = **server.shard.Job(1);
  ASSERT_TRUE(SetAll(job, 0).ok());
  struct Case {
    std::string directory;
    std::string file;
    StatusCode code;
  };
  const Case kCases[] = {
      {"/etc", "a.safetensors", StatusCode::kInvalidArgument},
      {in + "/../..", "a.safetensors", StatusCode::kInvalidArgument},
      {"c", "a.safetensors", StatusCode::kInvalidArgument},
      {in, "../a.safetensors", StatusCode::kInvalidArgument},
      {in, "manifest.json", StatusCode::kInvalidArgument},
      {scratch.path() + "/plain", "a.safetensors",
       absl::ErrnoToStatusCode(ENOTDIR)},
  };
  uint64_t next = 2;
  for (const Case& c : kCases) {
    ExpectDone(server.Run(WriteCommand(1, next, 7, c.directory, c.file)), 1,
               next);
    ++next;
    const v1::ServerMessage message = server.Next();
    EXPECT_EQ(message.checkpoint_written().code(), Code(c.code))
        << message.ShortDebugString();
    EXPECT_FALSE(message.checkpoint_written().message().empty());
  }
  EXPECT_EQ(server.metrics.checkpoint_failures.Value(), std::size(kCases));
  EXPECT_FALSE(std::filesystem::exists(in));
  // A server that is stopping lets what it hosts be saved.
  server.runner.Refuse();
  ExpectDone(server.Run(WriteCommand(1, next, 7, in)), 1, next);
  EXPECT_EQ(server.Next().checkpoint_written().code(), Code(StatusCode::kOk));
  ++next;
  ExpectDone(server.Run(CloseCommand(1, next, 1)), 1, next);
}

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
  manifest.tensors = {
      {.name = "w", .shape = {10}, .kind = TensorKind::kTrained}};
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
  EXPECT_THAT(ValuesNow(job), testing::ElementsAre(7, 8));
  ASSERT_TRUE(Push(job, PlainPush(1, 1, 10), 0).ok());
  EXPECT_THAT(ValuesNow(job), testing::ElementsAre(6.5f, 8))
      << "it has its momentum";
}

TEST(CommandRunnerRestoreTest, ARunBeginsWithTheWeightsOfAnother) {
  const ScratchFolder scratch;
  const std::string folder = scratch.path() + "/c";
  RunningShard before;
  Save(before, folder, "sgd:momentum=0.5");
  RunningShard after(scratch.path());
  v1::ServerCommand host = HostCommand(5, "sgd:momentum=0.5", folder);
  host.mutable_host()->set_weights_only(true);
  ASSERT_TRUE(after.Run(host).has_done());
  JobShard& job = **after.shard.Job(5);
  EXPECT_THAT(ValuesNow(job), testing::ElementsAre(7, 8));
  ASSERT_TRUE(Push(job, PlainPush(1, 1, 10), 0).ok());
  EXPECT_THAT(ValuesNow(job), testing::ElementsAre(7, 8))
      << "it has no momentum";

  host.set_run(6);
  host.mutable_host()->set_restore_from("/etc");
  EXPECT_EQ(after.Run(host).failed().code(),
            static_cast<int>(StatusCode::kInvalidArgument))
      << "it lies beside the folder of checkpoints";
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

TEST(CommandRunnerRestoreTest, WhatCannotBeRebuiltIsGone) {
  const ScratchFolder scratch;
  RunningShard server(scratch.path());
  v1::ServerCommand host = HostCommand(1, "sgd", scratch.path() + "/none");
  host.set_sequence(7);
  host.mutable_host()->set_epoch(2);
  host.mutable_host()->mutable_rebuild()->set_closing(3);
  const v1::ServerMessage refused = server.Run(host);
  EXPECT_EQ(refused.backup().epoch(), 2u);
  EXPECT_EQ(refused.backup().code(), Code(StatusCode::kNotFound));
  EXPECT_TRUE(server.shard.Jobs().empty());
  // It can be asked for something else.
  v1::ServerCommand backup = HostCommand(1);
  backup.set_sequence(0);
  backup.mutable_host()->set_epoch(5);
  backup.mutable_host()->set_backup(true);
  const v1::ServerMessage hosted = server.Run(backup);
  EXPECT_EQ(hosted.backup().epoch(), 5u);
  EXPECT_EQ(hosted.backup().code(), 0);
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
      after.runner.DropAll("the coordinator is gone");
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

TEST(HostJobTest, BlocksHaveTheirTensorsNames) {
  v1::ServerCommand command = HostCommand(1, "sgd:momentum=0.5");
  command.mutable_host()->mutable_blocks(1)->set_kind(
      v1::TensorSpec::STATISTIC);
  command.mutable_host()->mutable_tensors(0)->set_rate_factor(0.5);
  command.mutable_host()->mutable_tensors(0)->set_weight_decay(0);
  command.mutable_host()->mutable_tensors(0)->set_momentum(0.01);
  const auto config = ToShardConfig(command.host());
  ASSERT_TRUE(config.ok()) << config.status();
  ASSERT_EQ(config->blocks.size(), 2u);
  EXPECT_EQ(config->blocks[1], (BlockConfig{.id = 11,
                                            .tensor = "w",
                                            .offset = 5,
                                            .size = 5,
                                            .kind = TensorKind::kStatistic,
                                            .tuning = {.rate_factor = 0.5,
                                                       .weight_decay = 0,
                                                       .momentum = 0.01}}));
  EXPECT_EQ(config->optimizer.momentum, 0.5);
  EXPECT_EQ(config->batch_size, 4u);
  EXPECT_TRUE(ValidateShardConfig(*config).ok());
}

TEST(HostJobTest, ATensorsOwnDecayGoesBeforeTheOptimizersException) {
  v1::ServerCommand command =
      HostCommand(1, "adamw:weight_decay=0.1,no_decay=norms_and_biases");
  v1::TensorSpec& tensor = *command.mutable_host()->mutable_tensors(0);
  tensor.mutable_shape()->Clear();
  tensor.add_shape(tensor.size());
  EXPECT_EQ(ToShardConfig(command.host())->blocks[0].tuning.weight_decay, 0);
  tensor.set_weight_decay(0.3);
  EXPECT_EQ(ToShardConfig(command.host())->blocks[0].tuning.weight_decay, 0.3);
  tensor.clear_weight_decay();
  tensor.add_shape(1);
  EXPECT_EQ(ToShardConfig(command.host())->blocks[0].tuning, TensorTuning());
}

TEST(HostJobTest, RefusesWhatNoCoordinatorSends) {
  struct Case {
    std::function<void(v1::HostJob&)> spoil;
    const char* message;
  };
  const std::vector<Case> kCases = {
      {[](v1::HostJob& h) { h.mutable_blocks(0)->set_tensor(1); },
       "block 10 is of tensor 1; the job has 1"},
      {[](v1::HostJob& h) { h.mutable_blocks(0)->set_offset(-1); },
       "must lie within its tensor, \"w\""},
      {[](v1::HostJob& h) { h.mutable_blocks(1)->set_size(6); },
       "block 11 has an impossible offset or size"},
      {[](v1::HostJob& h) { h.mutable_blocks(1)->set_size(0); },
       "block 11 has an impossible offset or size"},
      {[](v1::HostJob& h) { h.mutable_blocks(1)->set_size(int64_t{1} << 62); },
       "block 11 has an impossible offset or size"},
      {[](v1::HostJob& h) { h.mutable_tensors(0)->set_size(-5); },
       "block 10 has an impossible offset or size"},
      {[](v1::HostJob& h) { h.clear_tensors(); }, "the job has 0"},
      {[](v1::HostJob& h) { h.mutable_job()->set_optimizer("lion"); },
       "unknown optimizer"},
      {[](v1::HostJob& h) { h.mutable_job()->set_round_strength("x"); },
       "unknown strength of a round"},
  };
  for (const Case& c : kCases) {
    v1::ServerCommand command = HostCommand(1);
    c.spoil(*command.mutable_host());
    const absl::Status status = ToShardConfig(command.host()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.message;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.message));
  }
}

TEST(CommandRunnerTest, ATurnEndsWaitsAndCountsOverAllJobs) {
  RunningShard server;
  Shard& shard = server.shard;
  ServerMetrics& metrics = server.metrics;
  const absl::Time now = absl::UnixEpoch();
  PullResult late;
  PullResult early;
  ASSERT_TRUE(shard.Configure(1, SmallConfig(2)).ok());
  ASSERT_TRUE(shard.Configure(2, SmallConfig(1)).ok());
  (*shard.Job(1))->Pull({.deadline = now}, 0, late.callback());
  (*shard.Job(2))
      ->Pull({.deadline = now + absl::Seconds(1)}, 0, early.callback());
  server.runner.TakeTurn(now);
  EXPECT_EQ(late.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(early.calls(), 0);
  EXPECT_EQ(metrics.parked_pulls.Value(), 1);
  EXPECT_EQ(metrics.jobs.Value(), 2);
  EXPECT_EQ(metrics.parameter_bytes.Value(), 3 * kTestBlockSize * 4);
  ASSERT_TRUE(SetAll(**shard.Job(2), 0).ok());
  ASSERT_TRUE((*shard.Job(2))->Snapshot(1).ok());
  ASSERT_TRUE(Push(**shard.Job(2), RoundPush(1, 1, 10, 5), 1).ok());
  server.runner.TakeTurn(now);
  EXPECT_EQ(metrics.parked_pulls.Value(), 0);
  EXPECT_EQ(metrics.snapshots.Value(), 1);
  EXPECT_EQ(metrics.open_rounds.Value(), 1);
  shard.RemoveAll("done");
  server.runner.TakeTurn(now);
  EXPECT_EQ(metrics.jobs.Value(), 0);
  EXPECT_EQ(metrics.parameter_bytes.Value(), 0);
}

}  // namespace

}  // namespace paceline
