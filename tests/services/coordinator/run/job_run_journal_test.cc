// A run that goes on in another life of the coordinator.

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "services/coordinator/run/journal/run_journal.h"
#include "services/coordinator/run/journal/run_log.h"
#include "tests/common/security/eventually.h"
#include "tests/services/coordinator/run/job_run_testing.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using Kind = FakeWorker::Kind;

class JobRunJournalTest : public JobRunTest {
 protected:
  JobRunJournalTest() {
    setup_.job_uid = "a uid";
    setup_.version = "1";
    KeepJournal();
  }

  // 20 of 40 samples are counted, and two grants are open.
  void TrainHalf() {
    StartTraining();
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_TRUE(worker(i).SayPushed(first_grants()[i]).ok());
    }
    for (size_t i = 0; i < 2; ++i) worker(i).Next(Kind::kGrant);
  }

  // Until the journal has such an event: another thread may be at it.
  void AwaitEvent(const std::function<bool(const journal::RunEvent&)>& wanted) {
    EXPECT_TRUE(Eventually([&] {
      auto reader = RunJournalReader::Open(setup_.journal_file);
      while (reader.ok()) {
        const auto event = reader->Next();
        if (!event.ok() || !event->has_value()) return false;
        if (wanted(**event)) return true;
      }
      return false;
    }));
  }
  // Until it has what a worker has said.
  void AwaitWritten(
      const std::function<bool(const v1::WorkerMessage&)>& wanted) {
    AwaitEvent([&wanted](const journal::RunEvent& event) {
      return event.has_said() && wanted(event.said().message());
    });
  }

  static std::vector<v1::HeldShard> Held(uint32_t shard) {
    std::vector<v1::HeldShard> held(1);
    held[0].set_shard(shard);
    held[0].set_epoch(1);
    return held;
  }
  bool Return(uint32_t i) {
    return job_->OnServerReturned(server(i).Link(), Held(i));
  }

  bool journal_is_there() const {
    return std::filesystem::exists(setup_.journal_file);
  }
  std::string reading() const { return setup_.journal_file + ".reading"; }
};

TEST_F(JobRunJournalTest, ItGoesOnWhereItWas) {
  TrainHalf();
  const v1::JobProgress before = job_->Progress();
  EXPECT_EQ(before.samples(), 20);
  ASSERT_TRUE(Restart().ok());
  EXPECT_EQ(job_->Progress().samples(), 20);
  EXPECT_EQ(job_->Progress().version(), before.version());
  EXPECT_EQ(job_->Progress().phase(), "training");
  // What the two were pushing is settled by fences, which the servers get as
  // they come back.
  ASSERT_TRUE(Return(0));
  ASSERT_TRUE(Return(1));
  EXPECT_NE(server(0).Await(v1::ServerCommand::kFence).fence().incarnation(),
            0u);
  for (const char* const name : {"w0", "w1"}) {
    AddWorker(name).Enter(SmallModel(40));
  }
  WorkToTheEnd();
  EXPECT_TRUE(Outcome().status.ok()) << Outcome().status;
  EXPECT_EQ(job_->Progress().samples(), 40);
}

TEST_F(JobRunJournalTest, ItGoesOnAgainAndAgain) {
  TrainHalf();
  for (int life = 0; life < 2; ++life) {
    ASSERT_TRUE(Restart().ok());
    EXPECT_EQ(job_->Progress().samples(), 20);
  }
  ASSERT_TRUE(Return(0));
  ASSERT_TRUE(Return(1));
  AddWorker("w0").Enter(SmallModel(40));
  worker(0).Work(1);
  EXPECT_EQ(job_->Progress().samples(), 30);
  // What comes of the push is sent once it is written down.
  worker(0).Next(Kind::kGrant);
  ASSERT_TRUE(Restart().ok());
  EXPECT_EQ(job_->Progress().samples(), 30);
}

TEST_F(JobRunJournalTest, ASwitchIsRememberedWithItsBatches) {
  TrainHalf();
  EXPECT_TRUE(
      job_->Switch(*ParseParadigm("bsp"), "a test", Batching::kBalanced).ok());
  AwaitDecision("switched from bsp to bsp (a test)");
  ASSERT_TRUE(Restart().ok());
  ASSERT_TRUE(job_->Paces().has_value());
  EXPECT_EQ(job_->Paces()->job.batching, Batching::kBalanced);
}

TEST_F(JobRunJournalTest, ASwitchThatWaitsForAClosingIsRemembered) {
  TrainHalf();
  EXPECT_TRUE(job_->Switch(*ParseParadigm("asp"), "a test", std::nullopt,
                           /*with_closing=*/true)
                  .ok());
  AwaitEvent(
      [](const journal::RunEvent& event) { return event.has_paradigm(); });
  ASSERT_TRUE(Restart().ok());
  ASSERT_TRUE(job_->Paces().has_value());
  EXPECT_EQ(FormatParadigm(job_->Paces()->present), "asp");
  EXPECT_TRUE(job_->Paces()->switching);
}

// As the fleet does it.
class JobRunSessionsTest : public JobRunJournalTest {
 protected:
  JobRunSessionsTest() {
    session_ = {.id = 7, .sent = 5, .received = 3};
    setup_.restore_worker = [this](const std::shared_ptr<JobRun>& run,
                                   WorkerId worker,
                                   const ReplayedSession& session) {
      const auto stream = std::make_shared<FakeStream<v1::WorkerCommand>>();
      streams_.emplace(worker, stream);
      replayed_.emplace(worker, session);
      auto part = std::make_shared<RunSession>(run, worker, stream);
      parts_.push_back(part);
      return part;
    };
  }

  absl::Status SayPushed(WorkerId worker, const v1::WorkerCommand& command) {
    v1::WorkerMessage message;
    v1::PushDone& done = *message.mutable_push_done();
    done.set_iteration(command.grant().iteration());
    done.set_samples(10);
    done.set_blocks(2);
    done.set_loss(1);
    return job_->OnWorkerMessage(worker, message);
  }

  std::map<WorkerId, std::shared_ptr<FakeStream<v1::WorkerCommand>>> streams_;
  std::map<WorkerId, ReplayedSession> replayed_;
  std::vector<std::shared_ptr<const RunSession>> parts_;
};

TEST_F(JobRunSessionsTest, WorkersGoOnInTheirIterations) {
  TrainHalf();
  ASSERT_TRUE(Restart().ok());
  ASSERT_THAT(replayed_, SizeIs(2));
  ASSERT_TRUE(Return(0));
  ASSERT_TRUE(Return(1));
  bool initializes = true;
  for (const auto& [worker, session] : replayed_) {
    EXPECT_EQ(session.id(), 7u);
    // `ready`, `initialized` of the first one, and `push_done`.
    EXPECT_EQ(session.received().last(), initializes ? 6u : 5u);
    initializes = false;
    // To `assign`, `begin` and two grants, none of which was acknowledged.
    EXPECT_EQ(session.sent().last(), 9u);
    ASSERT_THAT(session.sent().kept(), SizeIs(4));
    const v1::WorkerCommand& last = session.sent().kept().back().message;
    EXPECT_EQ(last.number(), 9u);
    EXPECT_EQ(last.grant().iteration(), 2);
    EXPECT_TRUE(SayPushed(worker, last).ok());
  }
  EXPECT_TRUE(Outcome().status.ok()) << Outcome().status;
  EXPECT_EQ(job_->Progress().samples(), 40);
  for (const auto& [worker, stream] : streams_) {
    EXPECT_TRUE(stream->commands.Take(kLong)->has_stop());
  }
  for (const v1::Decision& decision : History().decisions) {
    EXPECT_NE(decision.kind(), "worker-lost") << decision.text();
  }
}

// What they have acknowledged need not be kept, be it over several lives.
TEST_F(JobRunSessionsTest, SessionsGoOnAgainAndAgain) {
  TrainHalf();
  v1::WorkerMessage heartbeat;
  heartbeat.mutable_heartbeat();
  heartbeat.set_acknowledged(8);
  EXPECT_TRUE(worker(0).Say(heartbeat).ok());
  AwaitWritten(
      [](const v1::WorkerMessage& said) { return said.acknowledged() == 8; });
  const WorkerId first = worker(0).id();
  for (int life = 0; life < 2; ++life) {
    replayed_.clear();
    ASSERT_TRUE(Restart().ok());
    ASSERT_THAT(replayed_, SizeIs(2));
    EXPECT_EQ(replayed_.at(first).sent().last(), 9u);
    EXPECT_THAT(replayed_.at(first).sent().kept(), SizeIs(1));
  }
}

TEST_F(JobRunSessionsTest, WhoWasReleasedHearsOfIt) {
  TrainHalf();
  const WorkerId first = worker(0).id();
  job_->ReleaseWorker(first, "drained");
  worker(0).AwaitStop();  // By then it is written down.
  ASSERT_TRUE(Restart().ok());
  EXPECT_TRUE(replayed_.at(first).released());
  const auto& kept = replayed_.at(first).sent().kept();
  EXPECT_EQ(kept.back().message.stop().reason(), "drained");
}

TEST_F(JobRunSessionsTest, WhoDoesNotComeBackIsLost) {
  TrainHalf();
  const WorkerId first = worker(0).id();
  ASSERT_TRUE(Restart().ok());
  ASSERT_TRUE(Return(0));
  ASSERT_TRUE(Return(1));
  clock_.Advance(absl::Seconds(9));
  EXPECT_TRUE(
      SayPushed(first, replayed_.at(first).sent().kept().back().message).ok());
  clock_.Advance(absl::Seconds(9));
  AwaitDecision("lost (lease ended)");
}

TEST_F(JobRunSessionsTest, ASessionThatContradictsItselfIsOver) {
  TrainHalf();
  v1::WorkerMessage gap;
  gap.mutable_heartbeat();
  gap.set_number(100);
  EXPECT_TRUE(worker(0).Say(gap).ok());
  AwaitWritten(
      [](const v1::WorkerMessage& said) { return said.number() == 100; });
  ASSERT_TRUE(Restart().ok());
  EXPECT_THAT(replayed_, SizeIs(1));
}

// It would take the coordinator down as often as it starts.
TEST_F(JobRunJournalTest, ThreeLivesThatComeToNothingAreEnough) {
  TrainHalf();
  for (int life = 0; life < 3; ++life) ASSERT_TRUE(Restart().ok());
  const absl::Status refused = Restart();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("3 times"));
  EXPECT_FALSE(journal_is_there());
}

// That they end in order says nothing against the run; nor does a start that
// could not listen.
TEST_F(JobRunJournalTest, LivesThatEndInOrderAreNotCounted) {
  TrainHalf();
  for (int life = 0; life < 10; ++life) {
    job_->Leave();
    ASSERT_TRUE(Restart().ok()) << life;
  }
}

TEST_F(JobRunJournalTest, NoTimePassesWithoutACoordinator) {
  TrainHalf();
  const double seconds = job_->Progress().seconds();
  clock_.Advance(absl::Hours(1));
  ASSERT_TRUE(Restart().ok());
  EXPECT_LT(job_->Progress().seconds(), seconds + 60);
  // No lease has ended: nobody else is waited for.
  ASSERT_TRUE(Return(0));
  ASSERT_TRUE(Return(1));
}

// Of several of a name the one that has its shards is the one.
TEST_F(JobRunJournalTest, AServerWithoutItsShardIsLost) {
  TrainHalf();
  ASSERT_TRUE(Restart().ok());
  EXPECT_FALSE(job_->OnServerReturned(server(0).Link(), {}));
  EXPECT_FALSE(Return(0));  // It is too late.
  EXPECT_FALSE(Outcome().status.ok());
  EXPECT_THAT(Outcome().status.message(), HasSubstr("s0"));
}

TEST_F(JobRunJournalTest, AServerThatDoesNotComeBackIsLost) {
  TrainHalf();
  ASSERT_TRUE(Restart().ok());
  ASSERT_TRUE(Return(1));
  job_->LoseAwaitedServers();
  EXPECT_FALSE(Outcome().status.ok());
}

TEST_F(JobRunJournalTest, WhatCannotBeGoneOnWithIsRemoved) {
  EXPECT_TRUE(absl::IsNotFound(
      JobRun::FromJournal(setup_, &clock_, nullptr, nullptr).status()));
  TrainHalf();
  setup_.version = "2";
  absl::Status refused = Restart();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("version 1"));
  EXPECT_FALSE(journal_is_there());

  Assemble();
  refused = Restart();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("had not begun to train"));

  TrainHalf();
  std::ofstream(reading()) << "the life that read it has died";
  refused = Restart();
  EXPECT_TRUE(absl::IsDataLoss(refused)) << refused;
  EXPECT_FALSE(journal_is_there());
  EXPECT_FALSE(std::filesystem::exists(reading()));
}

// Whoever has written it, no coordinator dies of it.
TEST_F(JobRunJournalTest, WhatCannotHaveHappenedIsRefused) {
  const auto go_on_after = [this](const journal::RunEvent& event) {
    EndRun();
    TrainHalf();
    std::string record;
    AppendRecord(event, record);
    std::ofstream(setup_.journal_file, std::ios::binary | std::ios::app)
        << record;
    return Restart();
  };
  std::vector<journal::RunEvent> damaged(4);
  damaged[0].mutable_server_lost()->set_server(2);
  damaged[1].mutable_server_said()->set_shard(2);
  damaged[2].mutable_came()->set_worker(1);  // Once more.
  damaged[3].set_at_ns(-1);
  for (const journal::RunEvent& event : damaged) {
    const absl::Status refused = go_on_after(event);
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(refused.message(), HasSubstr("damaged"));
    EXPECT_FALSE(journal_is_there());
  }
  // A time that was before is the last one.
  journal::RunEvent early;
  early.set_at_ns(1);
  early.set_gone(99);
  EXPECT_TRUE(go_on_after(early).ok());
  EXPECT_EQ(job_->Progress().samples(), 20);
}

// A fleet offers it as long as it has the run, which has no place for it.
TEST_F(JobRunJournalTest, AServerThatComesAfterTheEndIsNotAwaited) {
  StartTraining();
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(worker(i).SayPushed(first_grants()[i]).ok());
  }
  WorkToTheEnd();
  EXPECT_TRUE(Outcome().status.ok()) << Outcome().status;
  const ServerLink late = {.member = 300, .name = "s9", .address = "s9:1"};
  job_->OfferServer(late);
  ASSERT_TRUE(Restart().ok());
  EXPECT_FALSE(job_->OnServerReturned(late, {}));
  job_->LoseAwaitedServers();
  EXPECT_TRUE(Outcome().status.ok()) << Outcome().status;
}

// Of a record that a crash has cut off nothing is taken.
TEST(RunJournalTest, ReadsWholeRecordsAndNothingElse) {
  const TestFolder folder;
  std::string records;
  std::vector<size_t> ends;
  for (int64_t at = 1; at <= 3; ++at) {
    journal::RunEvent event;
    event.set_at_ns(at);
    event.set_files_removed("/a/folder");
    AppendRecord(event, records);
    ends.push_back(records.size());
  }
  const auto read = [&](const std::string& bytes) {
    auto reader = RunJournalReader::Open(folder.Write("journal", bytes));
    EXPECT_TRUE(reader.ok());
    int64_t events = 0;
    while (true) {
      const auto event = reader->Next();
      EXPECT_TRUE(event.ok());
      if (!event.ok() || !event->has_value()) break;
      EXPECT_EQ((*event)->at_ns(), ++events);
    }
    EXPECT_EQ(reader->bytes(), events == 0 ? 0 : ends[events - 1]);
    return events;
  };
  for (size_t size = 0; size <= records.size(); ++size) {
    int64_t whole = 0;
    for (const size_t end : ends) whole += size >= end ? 1 : 0;
    EXPECT_EQ(read(records.substr(0, size)), whole) << size;
    if (size == records.size()) continue;
    // A byte that is another one ends it, too.
    std::string damaged = records;
    damaged[size] ^= 0x10;
    int64_t before = 0;
    for (const size_t end : ends) before += size >= end ? 1 : 0;
    EXPECT_EQ(read(damaged), before) << size;
  }
}

TEST(RunJournalTest, GoesOnBehindWhatIsWhole) {
  const TestFolder folder;
  std::string record;
  AppendRecord(journal::RunEvent(), record);
  const std::string path = folder.Write("journal", record + "torn");
  auto journal = RunJournal::GoOn(path, static_cast<int64_t>(record.size()));
  ASSERT_TRUE(journal.ok());
  EXPECT_TRUE((*journal)->Write(record).ok());
  EXPECT_EQ(std::filesystem::file_size(path), 2 * record.size());
  (*journal)->Remove();
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE((*journal)->Write(record).ok());  // Nobody wants it any more.
  EXPECT_FALSE(std::filesystem::exists(path));
}

// A file that stays is taken for the whole by the next life of the coordinator.
TEST(RunLogTest, WhatCouldNotBeRemovedIsRemovedLater) {
  const TestFolder folder;
  const std::string path = folder.Path("run.journal");
  // In its place it can neither be written nor removed.
  ASSERT_TRUE(std::filesystem::create_directory(path));
  RunLog log("job", "uid", /*feed=*/nullptr, /*fsync=*/false);
  log.Begin(path);
  EXPECT_FALSE(log.active());
  log.RemoveRest();
  EXPECT_TRUE(std::filesystem::exists(path));
  std::filesystem::remove(path);
  std::ofstream(path) << "of a run before";
  log.RemoveRest();
  EXPECT_FALSE(std::filesystem::exists(path));
  // Nor does it touch what comes later, as another run's.
  std::ofstream(path) << "of a run behind";
  log.RemoveRest();
  EXPECT_TRUE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace paceline
