#include "services/coordinator/store/job_store.h"

#include <unistd.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "services/coordinator/store/file_lock.h"
#include "services/coordinator/store/store_schema.h"
#include "tests/common/test_folder.h"
#include "tests/services/coordinator/store/store_testing.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> Names(JobStore& store) {
  std::vector<std::string> names;
  const auto jobs = store.LoadJobs();
  EXPECT_TRUE(jobs.ok()) << jobs.status();
  for (const v1::Job& job : *jobs) {
    names.push_back(job.name());
  }
  return names;
}

std::vector<int64_t> Sequences(const std::vector<v1::Decision>& decisions) {
  std::vector<int64_t> sequences;
  sequences.reserve(decisions.size());
  for (const v1::Decision& decision : decisions) {
    sequences.push_back(decision.sequence());
  }
  return sequences;
}

v1::Checkpoint CheckpointNamed(const std::string& name, int64_t seconds) {
  v1::Checkpoint checkpoint;
  checkpoint.set_name(name);
  checkpoint.mutable_create_time()->set_seconds(seconds);
  return checkpoint;
}

class JobStoreTest : public ::testing::Test {
 protected:
  void Reopen() {
    store_.reset();
    store_ = OpenStore(path_, options_);
  }

  const TestFolder directory_;
  const std::string path_ = directory_.Path("store.db");
  StoreOptions options_;
  std::unique_ptr<JobStore> store_ = OpenStore(path_);
};

TEST_F(JobStoreTest, JobsComeBackAsTheyWereLastPut) {
  v1::Job job = JobNamed("a");
  (*job.mutable_labels())["team"] = "vision";
  ASSERT_TRUE(store_->Write({.jobs = {job}}).ok());
  ASSERT_TRUE(store_->Write({.jobs = {JobNamed("b")}}).ok());
  job.set_state(v1::Job::RUNNING);
  ASSERT_TRUE(store_->Write({.jobs = {job}}).ok());
  Reopen();
  const auto jobs = store_->LoadJobs();
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  ASSERT_THAT(*jobs, SizeIs(2));
  EXPECT_EQ(jobs->at(0).SerializeAsString(), job.SerializeAsString());
  EXPECT_EQ(jobs->at(1).name(), "namespaces/n/jobs/b");
}

TEST_F(JobStoreTest, ANameBelongsToOneJob) {
  ASSERT_TRUE(store_->Write({.jobs = {JobNamed("a")}}).ok());
  v1::Job other = JobNamed("a");
  other.set_uid("uid-other");
  const absl::Status status = store_->Write({.jobs = {other}});
  EXPECT_TRUE(absl::IsAlreadyExists(status)) << status;
  // Where the first goes in the same batch the name is free.
  EXPECT_TRUE(store_->Write({.deleted_jobs = {"uid-a"}, .jobs = {other}}).ok());
  EXPECT_EQ(store_->LoadJobs()->at(0).uid(), "uid-other");
}

TEST_F(JobStoreTest, ADeletedJobTakesWhatBelongsToIt) {
  for (const char* id : {"a", "b"}) {
    const std::string uid = absl::StrCat("uid-", id);
    ASSERT_TRUE(store_->Write({.jobs = {JobNamed(id)}}).ok());
    ASSERT_TRUE(
        store_->Write({.decisions = {{uid, DecisionNumbered(1)}}}).ok());
    ASSERT_TRUE(store_->Write({.accuracy_points = {{uid, {}}}}).ok());
    ASSERT_TRUE(store_->PutCheckpoint(uid, CheckpointNamed(id, 1)).ok());
    ASSERT_TRUE(store_->Write({.reports = {{uid, "{}"}}}).ok());
  }
  ASSERT_TRUE(store_->DeleteJob("uid-a").ok());
  EXPECT_TRUE(store_->DeleteJob("uid-a").ok());
  Reopen();
  EXPECT_THAT(Names(*store_), ElementsAre("namespaces/n/jobs/b"));
  for (const auto& [uid, count] : std::vector<std::pair<std::string, size_t>>{
           {"uid-a", 0}, {"uid-b", 1}}) {
    SCOPED_TRACE(uid);
    EXPECT_THAT(*store_->ListDecisions(uid, 0, 10), SizeIs(count));
    EXPECT_THAT(*store_->ListAccuracyPoints(uid, 0, 10), SizeIs(count));
    EXPECT_THAT(*store_->ListCheckpoints(uid), SizeIs(count));
    EXPECT_EQ(store_->GetReport(uid)->has_value(), count == 1);
  }
}

TEST_F(JobStoreTest, DecisionsArePagedBySequence) {
  ASSERT_TRUE(store_->Write({.jobs = {JobNamed("a")}}).ok());
  EXPECT_EQ(*store_->LastDecisionSequence("uid-a"), 0);
  ASSERT_TRUE(store_
                  ->Write({.decisions = {{"uid-a", DecisionNumbered(1)},
                                         {"uid-a", DecisionNumbered(2)},
                                         {"uid-a", DecisionNumbered(5)}}})
                  .ok());
  EXPECT_EQ(*store_->LastDecisionSequence("uid-a"), 5);
  EXPECT_THAT(Sequences(*store_->ListDecisions("uid-a", 0, 2)),
              ElementsAre(1, 2));
  EXPECT_THAT(Sequences(*store_->ListDecisions("uid-a", 2, 2)), ElementsAre(5));
  EXPECT_THAT(*store_->ListDecisions("uid-a", 0, -1), IsEmpty());
  v1::Decision again = DecisionNumbered(2);
  again.set_text("instead");
  ASSERT_TRUE(store_->Write({.decisions = {{"uid-a", again}}}).ok());
  EXPECT_EQ(store_->ListDecisions("uid-a", 1, 1)->at(0).text(), "instead");
}

TEST_F(JobStoreTest, AccuracyPointsAreNumberedInTheirOrder) {
  ASSERT_TRUE(store_->Write({.jobs = {JobNamed("a")}}).ok());
  for (int i = 1; i <= 3; ++i) {
    v1::AccuracyPoint point;
    point.set_accuracy(0.1 * i);
    ASSERT_TRUE(store_->Write({.accuracy_points = {{"uid-a", point}}}).ok());
  }
  Reopen();
  const auto points = store_->ListAccuracyPoints("uid-a", 1, 10);
  ASSERT_TRUE(points.ok()) << points.status();
  ASSERT_THAT(*points, SizeIs(2));
  EXPECT_EQ(points->at(0).sequence, 2);
  EXPECT_EQ(points->at(1).sequence, 3);
  EXPECT_DOUBLE_EQ(points->at(1).point.accuracy(), 0.1 * 3);
}

TEST_F(JobStoreTest, HistoryOfAJobThatIsGoneIsLeftOut) {
  ASSERT_TRUE(store_->Write({.jobs = {JobNamed("a")}}).ok());
  ASSERT_TRUE(store_
                  ->Write({.decisions = {{"uid-gone", DecisionNumbered(1)},
                                         {"uid-a", DecisionNumbered(1)}},
                           .accuracy_points = {{"uid-gone", {}}}})
                  .ok());
  EXPECT_THAT(*store_->ListDecisions("uid-a", 0, 10), SizeIs(1));
  EXPECT_THAT(*store_->ListDecisions("uid-gone", 0, 10), IsEmpty());
}

TEST_F(JobStoreTest, CheckpointsAreNewestFirst) {
  ASSERT_TRUE(store_->Write({.jobs = {JobNamed("a")}}).ok());
  for (const auto& [name, seconds] :
       std::vector<std::pair<std::string, int64_t>>{
           {"old", 10}, {"new", 30}, {"middle", 20}}) {
    ASSERT_TRUE(
        store_->PutCheckpoint("uid-a", CheckpointNamed(name, seconds)).ok());
  }
  v1::Checkpoint ready = CheckpointNamed("middle", 20);
  ready.set_state(v1::Checkpoint::READY);
  ASSERT_TRUE(store_->PutCheckpoint("uid-a", ready).ok());
  ASSERT_TRUE(store_->DeleteCheckpoint("old").ok());
  const auto checkpoints = store_->ListCheckpoints("uid-a");
  ASSERT_THAT(*checkpoints, SizeIs(2));
  EXPECT_EQ(checkpoints->at(0).name(), "new");
  EXPECT_EQ(checkpoints->at(1).state(), v1::Checkpoint::READY);
}

TEST_F(JobStoreTest, ACheckpointNeedsItsJob) {
  const absl::Status status =
      store_->PutCheckpoint("uid-gone", CheckpointNamed("c", 1));
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_TRUE(absl::IsFailedPrecondition(
      store_->Write({.reports = {{"uid-gone", "{}"}}})));
}

TEST_F(JobStoreTest, TheLatestReportIsKept) {
  ASSERT_TRUE(store_->Write({.jobs = {JobNamed("a")}}).ok());
  EXPECT_EQ(*store_->GetReport("uid-a"), std::nullopt);
  ASSERT_TRUE(store_->Write({.reports = {{"uid-a", "{\"n\": 1}"}}}).ok());
  ASSERT_TRUE(store_->Write({.reports = {{"uid-a", "{\"n\": 2}"}}}).ok());
  EXPECT_EQ(*store_->GetReport("uid-a"), "{\"n\": 2}");
}

TEST_F(JobStoreTest, AuditRecordsAreNewestFirstAndOnlySoMany) {
  options_.audit_records_max = 5;
  Reopen();
  for (int i = 1; i <= 8; ++i) {
    v1::AuditRecord record;
    record.set_method(absl::StrCat("m", i));
    ASSERT_TRUE(store_->Write({.audit_records = {record}}).ok());
  }
  const auto newest = store_->ListAuditRecords(0, 2);
  ASSERT_THAT(*newest, SizeIs(2));
  EXPECT_EQ(newest->at(0).method(), "m8");
  EXPECT_EQ(newest->at(0).sequence(), 8);
  const auto rest = store_->ListAuditRecords(newest->at(1).sequence(), 10);
  ASSERT_THAT(*rest, SizeIs(3));
  EXPECT_EQ(rest->at(2).method(), "m4");
  // A number is never given twice, whatever is forgotten.
  Reopen();
  ASSERT_TRUE(store_->Write({.audit_records = {v1::AuditRecord()}}).ok());
  EXPECT_EQ(store_->ListAuditRecords(0, 1)->at(0).sequence(), 9);
}

TEST_F(JobStoreTest, AnAnsweredRequestIsKnownForAnHour) {
  const absl::Time now = absl::FromUnixSeconds(1'700'000'000);
  const AnsweredRequest request = {.identity = "ann",
                                   .request_id = "r1",
                                   .digest = "d1",
                                   .resource = "namespaces/n/jobs/a",
                                   .time = now};
  ASSERT_TRUE(store_->Write({.requests = {request}}).ok());
  Reopen();
  const auto found = store_->FindRequest("ann", "r1", now + absl::Minutes(59));
  ASSERT_TRUE(found.ok() && found->has_value()) << found.status();
  EXPECT_EQ((*found)->digest, "d1");
  EXPECT_EQ((*found)->resource, "namespaces/n/jobs/a");
  EXPECT_EQ((*found)->time, now);
  EXPECT_EQ(*store_->FindRequest("bob", "r1", now), std::nullopt);
  EXPECT_EQ(*store_->FindRequest("ann", "r2", now), std::nullopt);
  EXPECT_EQ(*store_->FindRequest("ann", "r1", now + absl::Hours(1)),
            std::nullopt);
  // The next one that is put sweeps it out.
  ASSERT_TRUE(store_
                  ->Write({.requests = {{.identity = "",
                                         .request_id = "r3",
                                         .digest = "",
                                         .resource = "",
                                         .time = now + absl::Hours(2)}}})
                  .ok());
  EXPECT_EQ(*store_->FindRequest("ann", "r1", now), std::nullopt);
}

TEST_F(JobStoreTest, ARequestThatWasNotDoneIsForgotten) {
  const absl::Time now = absl::FromUnixSeconds(1'700'000'000);
  ASSERT_TRUE(store_->Write({.requests = {{"ann", "r1", "d", "r", now}}}).ok());
  ASSERT_TRUE(store_->Write({.requests = {{"bob", "r1", "d", "r", now}}}).ok());
  ASSERT_TRUE(store_->Write({.deleted_requests = {{"ann", "r1"}}}).ok());
  EXPECT_EQ(*store_->FindRequest("ann", "r1", now), std::nullopt);
  EXPECT_NE(*store_->FindRequest("bob", "r1", now), std::nullopt);
}

TEST_F(JobStoreTest, ABatchIsAllOrNothing) {
  ASSERT_TRUE(store_->Write({.jobs = {JobNamed("a")}}).ok());
  v1::Job twin = JobNamed("a");
  twin.set_uid("uid-twin");
  const absl::Time now = absl::FromUnixSeconds(1'700'000'000);
  const absl::Status status = store_->Write(
      {.jobs = {JobNamed("b"), twin},
       .requests = {{"ann", "r1", "d", "namespaces/n/jobs/b", now}},
       .audit_records = {v1::AuditRecord()}});
  EXPECT_TRUE(absl::IsAlreadyExists(status)) << status;
  EXPECT_THAT(Names(*store_), ElementsAre("namespaces/n/jobs/a"));
  EXPECT_EQ(*store_->FindRequest("ann", "r1", now), std::nullopt);
  EXPECT_THAT(*store_->ListAuditRecords(0, 10), IsEmpty());
}

TEST_F(JobStoreTest, BytesOfAnyKindComeBack) {
  v1::Job job = JobNamed("a");
  job.set_state_reason(std::string("\0'; DROP TABLE jobs; --\xc3\xa4", 26));
  ASSERT_TRUE(store_->Write({.jobs = {job}}).ok());
  EXPECT_EQ(store_->LoadJobs()->at(0).state_reason(), job.state_reason());
}

TEST_F(JobStoreTest, ThreadsShareIt) {
  ASSERT_TRUE(store_->Write({.jobs = {JobNamed("a")}}).ok());
  constexpr int kThreads = 4;
  constexpr int kEach = 50;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const int64_t sequence = t * kEach + i + 1;
        EXPECT_TRUE(
            store_
                ->Write({.decisions = {{"uid-a", DecisionNumbered(sequence)}}})
                .ok());
        EXPECT_TRUE(store_->LoadJobs().ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(*store_->ListDecisions("uid-a", 0, 1000),
              SizeIs(kThreads * kEach));
}

TEST_F(JobStoreTest, ASecondOpenerIsTurnedAway) {
  const absl::Status status = JobStore::Open(path_).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr(path_));
  store_.reset();
  EXPECT_TRUE(JobStore::Open(path_).ok());
}

TEST(JobStoreInMemoryTest, KeepsNothing) {
  auto store = OpenStore(":memory:");
  ASSERT_TRUE(store->Write({.jobs = {JobNamed("a")}}).ok());
  EXPECT_THAT(Names(*store), SizeIs(1));
  EXPECT_THAT(Names(*OpenStore(":memory:")), IsEmpty());
}

using ::testing::HasSubstr;

TEST(FileLockTest, OneHolderAtATimeWhoIsNamed) {
  const TestFolder directory;
  const std::string path = directory.Path("lock");
  std::optional<FileLock> first;
  {
    auto taken = FileLock::Take(path);
    ASSERT_TRUE(taken.ok()) << taken.status();
    first.emplace(*std::move(taken));
  }
  const absl::Status second = FileLock::Take(path).status();
  EXPECT_TRUE(absl::IsUnavailable(second)) << second;
  EXPECT_THAT(std::string(second.message()),
              HasSubstr(absl::StrCat("by process ", getpid())));
  first.reset();
  EXPECT_TRUE(FileLock::Take(path).ok());
}

TEST(FileLockTest, AMissingDirectoryIsNotFound) {
  const TestFolder directory;
  const absl::Status status =
      FileLock::Take(directory.Path("none/lock")).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
}

Database OpenDatabase(const std::string& path) {
  auto database = Database::Open(path);
  EXPECT_TRUE(database.ok()) << database.status();
  return *std::move(database);
}

absl::Status Change(const std::string& path, const char* sql) {
  Database database = OpenDatabase(path);
  return database.Execute(sql);
}

TEST(StoreSchemaTest, AFileOfVersionOneIsUpgraded) {
  const TestFolder directory;
  const std::string path = directory.Path("store.db");
  {
    Database old = OpenDatabase(path);
    ASSERT_TRUE(Migrate(old, StoreMigrations().first(1)).ok());
    EXPECT_EQ(*old.Number("PRAGMA user_version"), 1);
    const v1::Job job = JobNamed("a");
    ASSERT_TRUE(old.Run("INSERT INTO jobs (uid, name, proto) VALUES (?, ?, ?)",
                        job.uid(), job.name(), job)
                    .ok());
  }
  {
    const auto store = OpenStore(path);
    ASSERT_THAT(*store->LoadJobs(), SizeIs(1));
    EXPECT_EQ(store->LoadJobs()->at(0).uid(), "uid-a");
    // What version 2 brought.
    EXPECT_TRUE(store->Write({.audit_records = {v1::AuditRecord()}}).ok());
  }
  Database upgraded = OpenDatabase(path);
  EXPECT_EQ(*upgraded.Number("PRAGMA user_version"), 2);
}

TEST(StoreSchemaTest, AStepThatFailsLeavesTheVersionBefore) {
  Database database = OpenDatabase(":memory:");
  const char* const steps[] = {
      "CREATE TABLE one (x)",
      "CREATE TABLE two (x); CREATE TABLE one (x)",
  };
  const absl::Status status = Migrate(database, steps);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("upgrade to version 2"));
  EXPECT_EQ(*database.Number("PRAGMA user_version"), 1);
  EXPECT_EQ(*database.Number("SELECT COUNT(*) FROM sqlite_master"), 1);
}

TEST(StoreSchemaTest, ANewerFileIsLeftAlone) {
  const TestFolder directory;
  const std::string path = directory.Path("store.db");
  OpenStore(path);
  ASSERT_TRUE(Change(path, "PRAGMA user_version = 99").ok());
  const absl::Status status = JobStore::Open(path).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("version 99"));
  Database database = OpenDatabase(path);
  EXPECT_EQ(*database.Number("PRAGMA user_version"), 99);
}

TEST(StoreSchemaTest, AnotherProgramsDatabaseIsLeftAlone) {
  const TestFolder directory;
  const std::string path = directory.Path("other.db");
  ASSERT_TRUE(Change(path, "CREATE TABLE songs (title)").ok());
  const absl::Status status = JobStore::Open(path).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("another program"));
  Database database = OpenDatabase(path);
  EXPECT_EQ(*database.Number("SELECT COUNT(*) FROM sqlite_master"), 1);
}

}  // namespace

}  // namespace paceline
