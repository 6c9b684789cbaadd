#include "services/parameter_server/replication_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "common/rpc/channel.h"
#include "tests/services/parameter_server/command_runner_testing.h"
#include "tests/services/parameter_server/job_shard_testing.h"

// Two servers, one of which has what the other one acknowledges.

namespace paceline {
namespace {

constexpr uint64_t kRun = 1;

struct Replica {
  Replica()
      : runner(&shard, &metrics, {},
               [](const std::string& address, absl::Duration liveness) {
                 return MakeChannel(address, ChannelProfile::kBulk, liveness);
               }),
        service(&shard, &streams, nullptr) {
    runner.Begin(
        [this](v1::ServerMessage message) { answers.Put(std::move(message)); });
    auto listens = Listen("127.0.0.1:0", ChannelProfile::kBulk, {}, {&service});
    EXPECT_TRUE(listens.ok()) << listens.status();
    listening = *std::move(listens);
  }
  ~Replica() { Die(); }

  // As if its process did: streams break.
  void Die() {
    if (listening.server == nullptr) return;
    runner.DropAll("the test is over");
    streams.CloseAll(absl::UnavailableError("the test is over"));
    listening.server->Shutdown(absl::ToChronoTime(absl::Now()));
    listening.server->Wait();
    EXPECT_TRUE(streams.AwaitEmpty(absl::Seconds(10)));
    listening.server = nullptr;
  }

  v1::ServerMessage Next() {
    auto message = answers.Take(absl::Seconds(30));
    EXPECT_TRUE(message.ok()) << message.status();
    return message.ok() ? *message : v1::ServerMessage();
  }
  v1::ServerMessage Run(const v1::ServerCommand& command) {
    runner.Run(command);
    return Next();
  }
  JobShard& job() { return **shard.Job(kRun); }

  prometheus::Registry registry;
  ServerMetrics metrics{registry};
  Shard shard;
  StreamRegistry streams;
  Mailbox<v1::ServerMessage> answers;
  CommandRunner runner;
  ReplicationService service;
  ListeningServer listening;
};

v1::ServerCommand Promote(uint64_t epoch) {
  v1::ServerCommand command = Command(kRun, 0);
  command.mutable_promote()->set_epoch(epoch);
  return command;
}

class ReplicationTest : public ::testing::Test {
 protected:
  ReplicationTest() {
    EXPECT_TRUE(primary_.Run(HostCommand(kRun)).has_done());
    EXPECT_TRUE(SetAll(primary_.job(), 0).ok());
  }

  void HostBackup(uint64_t epoch) {
    v1::ServerCommand host = HostCommand(kRun);
    host.set_sequence(0);
    host.mutable_host()->set_backup(true);
    host.mutable_host()->set_epoch(epoch);
    const v1::ServerMessage answer = backup_->Run(host);
    EXPECT_EQ(answer.backup().epoch(), epoch);
    EXPECT_EQ(answer.backup().code(), 0);
  }
  void SetBackup(uint64_t epoch, bool hold = false) {
    v1::ServerCommand command = Command(kRun, 0);
    command.mutable_replicate()->set_epoch(epoch);
    command.mutable_replicate()->set_address(backup_->listening.address);
    command.mutable_replicate()->set_hold(hold);
    primary_.runner.Run(command);
  }
  // What the primary says of its backup.
  v1::BackupReport Report() { return primary_.Next().backup(); }
  void Fill() {
    HostBackup(2);
    SetBackup(2);
    EXPECT_EQ(Report().code(), 0);
  }
  // Takes 1 from each weight of a block, and tells when that is held.
  std::shared_ptr<absl::Notification> PushOne(int64_t iteration) {
    auto held = std::make_shared<absl::Notification>();
    EXPECT_TRUE(Push(primary_.job(), PlainPush(9, iteration, 10), 1).ok());
    EXPECT_TRUE(Push(primary_.job(), PlainPush(9, iteration, 11), 1).ok());
    primary_.job().log().WhenHeld([held] { held->Notify(); });
    return held;
  }
  static float WeightOf(JobShard& job) {
    return PullNow(job).blocks[0].state->weights()[0];
  }

  Replica primary_;
  std::unique_ptr<Replica> backup_ = std::make_unique<Replica>();
};

TEST_F(ReplicationTest, WhatWasAcknowledgedIsThereWhenTheBackupTakesOver) {
  PushOne(1)->WaitForNotification();
  Fill();
  for (int64_t i = 2; i <= 5; ++i) PushOne(i)->WaitForNotification();
  EXPECT_TRUE(primary_.Run(CloseCommand(kRun, 2, 1)).has_done());
  const v1::ServerMessage answer = backup_->Run(Promote(3));
  EXPECT_EQ(answer.promoted().epoch(), 3u);
  EXPECT_EQ(answer.promoted().sequence(), 2u) << "the closing is known there";
  EXPECT_EQ(WeightOf(backup_->job()), -5);
  // It goes on as a primary.
  EXPECT_TRUE(backup_->Run(CloseCommand(kRun, 3, 2)).has_done());
}

TEST_F(ReplicationTest, OnceTheBackupTookOverThePrimaryAcknowledgesNothing) {
  Fill();
  backup_->Run(Promote(3));
  // Taken, as long as the primary does not know, or refused.
  absl::Notification held;
  Push(primary_.job(), PlainPush(9, 1, 10), 1).IgnoreError();
  Push(primary_.job(), PlainPush(9, 1, 11), 1).IgnoreError();
  primary_.job().log().WhenHeld([&held] { held.Notify(); });
  EXPECT_EQ(Report().code(), static_cast<int>(absl::StatusCode::kAborted));
  EXPECT_FALSE(held.HasBeenNotified());
  EXPECT_EQ(WeightOf(backup_->job()), 0);
}

TEST_F(ReplicationTest, ABrokenStreamHoldsEverythingUntilSomebodyDecides) {
  Fill();
  const uint64_t number = 1;
  backup_.reset();
  EXPECT_NE(Report().code(), 0);
  const auto held = PushOne(number);
  EXPECT_FALSE(held->HasBeenNotified());
  // The coordinator: nobody follows, and you are the primary.
  v1::ServerCommand alone = Command(kRun, 0);
  alone.mutable_replicate()->set_epoch(3);
  primary_.runner.Run(alone);
  held->WaitForNotification();
}

TEST_F(ReplicationTest, ABackupThatCannotBeReachedIsNone) {
  const std::string address = backup_->listening.address;
  v1::ServerCommand command = Command(kRun, 0);
  command.mutable_replicate()->set_epoch(2);
  command.mutable_replicate()->set_address(address);
  backup_.reset();
  primary_.runner.Run(command);
  EXPECT_EQ(Report().code(), static_cast<int>(absl::StatusCode::kUnavailable));
}

TEST_F(ReplicationTest, WithHoldNobodyIsToldBeforeTheBackupHasAll) {
  v1::ServerCommand alone = Command(kRun, 0);
  alone.mutable_replicate()->set_epoch(2);
  alone.mutable_replicate()->set_hold(true);
  primary_.runner.Run(alone);
  const auto held = PushOne(1);
  EXPECT_FALSE(held->HasBeenNotified());
  HostBackup(3);
  SetBackup(3, /*hold=*/true);
  EXPECT_EQ(Report().code(), 0);
  held->WaitForNotification();
  backup_->Run(Promote(4));
  EXPECT_EQ(WeightOf(backup_->job()), -1);
}

// Or it would go on with what dies with this server.
TEST_F(ReplicationTest, APullGetsWhatIsDrainedAheadOnceTheBackupHasIt) {
  v1::ServerCommand alone = Command(kRun, 0);
  alone.mutable_replicate()->set_epoch(2);
  alone.mutable_replicate()->set_hold(true);
  primary_.runner.Run(alone);
  primary_.runner.Run(AnnounceCommand(kRun, 1));
  JobShard& job = primary_.job();
  absl::Notification pulled;
  job.Pull(
      {1, 9, absl::InfiniteFuture(), 1}, 1,
      [&pulled](const absl::StatusOr<PulledBlocks>& blocks) {
        EXPECT_TRUE(blocks.ok()) << blocks.status();
        pulled.Notify();
      },
      [](const PulledBlock& block) { ADD_FAILURE() << block.id; });
  for (const uint32_t block : {10, 11}) {
    ASSERT_TRUE(PushAndDrain(job, RoundPush(9, 1, block, 7), 1).ok());
  }
  EXPECT_EQ(WeightOf(job), -1);
  EXPECT_FALSE(pulled.HasBeenNotified());
  // The new primary does not know that the closing is done, and drains nothing
  // twice.
  HostBackup(3);
  SetBackup(3, /*hold=*/true);
  EXPECT_EQ(Report().code(), 0);
  pulled.WaitForNotification();
  backup_->Run(Promote(4));
  EXPECT_EQ(WeightOf(backup_->job()), -1);
  v1::ServerCommand close = CloseCommand(kRun, 2, 1);
  close.mutable_close()->add_rounds(7);
  EXPECT_TRUE(backup_->Run(close).has_done());
  EXPECT_EQ(WeightOf(backup_->job()), -1);
}

TEST_F(ReplicationTest, AStreamOfAnotherEpochIsRefused) {
  HostBackup(5);
  SetBackup(4);
  EXPECT_EQ(Report().code(), static_cast<int>(absl::StatusCode::kNotFound));
  // It has heard of the next one too late, and is what it was.
  SetBackup(5);
  EXPECT_EQ(Report().code(), 0);
  PushOne(1)->WaitForNotification();
  backup_->Run(Promote(6));
  EXPECT_EQ(WeightOf(backup_->job()), -1);
}

TEST_F(ReplicationTest, AnotherBackupTakesThePlaceOfTheFirst) {
  Fill();
  PushOne(1)->WaitForNotification();
  backup_ = std::make_unique<Replica>();
  EXPECT_NE(Report().code(), 0);
  HostBackup(4);
  SetBackup(4);
  EXPECT_EQ(Report().code(), 0);
  PushOne(2)->WaitForNotification();
  backup_->Run(Promote(5));
  EXPECT_EQ(WeightOf(backup_->job()), -2);
}

TEST_F(ReplicationTest, AShardThatWasLostBeginsAnewWhereItsRunIs) {
  v1::ServerCommand host = HostCommand(kRun);
  host.set_sequence(7);
  host.mutable_host()->set_epoch(2);
  host.mutable_host()->mutable_rebuild()->set_closing(3);
  host.mutable_host()->mutable_rebuild()->set_snapshot(2);
  const v1::ServerMessage answer = backup_->Run(host);
  EXPECT_EQ(answer.backup().epoch(), 2u);
  EXPECT_EQ(answer.backup().code(), 0);
  JobShard& job = backup_->job();
  // A pull waits for the weights, and not for what was closed before.
  bool pulled = false;
  job.Pull({1, 8, absl::InfiniteFuture(), 1}, 3,
           [&pulled](const absl::StatusOr<PulledBlocks>& blocks) {
             pulled = blocks.ok();
           });
  EXPECT_FALSE(pulled);
  absl::Status snapshot;
  job.PullSnapshot({2, 8, absl::InfiniteFuture(), 1}, 2,
                   [&snapshot](const absl::StatusOr<PulledBlocks>& blocks) {
                     snapshot = blocks.status();
                   });
  EXPECT_TRUE(absl::IsNotFound(snapshot)) << snapshot;
  ASSERT_TRUE(SetAll(job, 4).ok());
  EXPECT_TRUE(pulled);
  ASSERT_TRUE(Push(job, PlainPush(8, 5, 10), 1).ok());
  EXPECT_EQ(WeightOf(job), 3);
  // Whoever fills it does not know that it was heard, and says it again.
  EXPECT_TRUE(SetAll(job, 4).ok());
  EXPECT_EQ(WeightOf(job), 3);
  EXPECT_TRUE(backup_->Run(CloseCommand(kRun, 8, 4)).has_done());
}

}  // namespace
}  // namespace paceline
