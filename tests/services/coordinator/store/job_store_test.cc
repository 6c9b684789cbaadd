#include "services/coordinator/store/job_store.h"

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
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

  const TestDirectory directory_;
  const std::string path_ = directory_.Path("store.db");
  StoreOptions options_;
  std::unique_ptr<JobStore> store_ = OpenStore(path_);
};

TEST_F(JobStoreTest, JobsComeBackAsTheyWereLastPut) {
  v1::Job job = JobNamed("a");
  (*job.mutable_labels())["team"] = "vision";
  ASSERT_TRUE(store_->PutJob(job).ok());
  ASSERT_TRUE(store_->PutJob(JobNamed("b")).ok());
  job.set_state(v1::Job::RUNNING);
  ASSERT_TRUE(store_->PutJob(job).ok());
  Reopen();
  const auto jobs = store_->LoadJobs();
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  ASSERT_THAT(*jobs, SizeIs(2));
  EXPECT_EQ(jobs->at(0).SerializeAsString(), job.SerializeAsString());
  EXPECT_EQ(jobs->at(1).name(), "namespaces/n/jobs/b");
}

TEST_F(JobStoreTest, ANameBelongsToOneJob) {
  ASSERT_TRUE(store_->PutJob(JobNamed("a")).ok());
  v1::Job other = JobNamed("a");
  other.set_uid("uid-other");
  const absl::Status status = store_->PutJob(other);
  EXPECT_TRUE(absl::IsAlreadyExists(status)) << status;
  // Where the first goes in the same batch the name is free.
  EXPECT_TRUE(store_->Write({.deleted_jobs = {"uid-a"}, .jobs = {other}}).ok());
  EXPECT_EQ(store_->LoadJobs()->at(0).uid(), "uid-other");
}

TEST_F(JobStoreTest, ADeletedJobTakesWhatBelongsToIt) {
  for (const char* id : {"a", "b"}) {
    const std::string uid = absl::StrCat("uid-", id);
    ASSERT_TRUE(store_->PutJob(JobNamed(id)).ok());
    ASSERT_TRUE(store_->AppendDecision(uid, DecisionNumbered(1)).ok());
    ASSERT_TRUE(store_->AppendAccuracyPoint(uid, {}).ok());
    ASSERT_TRUE(store_->PutCheckpoint(uid, CheckpointNamed(id, 1)).ok());
    ASSERT_TRUE(store_->PutReport(uid, "{}").ok());
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
  ASSERT_TRUE(store_->PutJob(JobNamed("a")).ok());
  EXPECT_EQ(*store_->LastDecisionSequence("uid-a"), 0);
  ASSERT_TRUE(
      store_
          ->AppendDecisions("uid-a", {DecisionNumbered(1), DecisionNumbered(2),
                                      DecisionNumbered(5)})
          .ok());
  EXPECT_EQ(*store_->LastDecisionSequence("uid-a"), 5);
  EXPECT_THAT(Sequences(*store_->ListDecisions("uid-a", 0, 2)),
              ElementsAre(1, 2));
  EXPECT_THAT(Sequences(*store_->ListDecisions("uid-a", 2, 2)), ElementsAre(5));
  EXPECT_THAT(*store_->ListDecisions("uid-a", 0, -1), IsEmpty());
  v1::Decision again = DecisionNumbered(2);
  again.set_text("instead");
  ASSERT_TRUE(store_->AppendDecision("uid-a", again).ok());
  EXPECT_EQ(store_->ListDecisions("uid-a", 1, 1)->at(0).text(), "instead");
}

TEST_F(JobStoreTest, AccuracyPointsAreNumberedInTheirOrder) {
  ASSERT_TRUE(store_->PutJob(JobNamed("a")).ok());
  for (int i = 1; i <= 3; ++i) {
    v1::AccuracyPoint point;
    point.set_accuracy(0.1 * i);
    ASSERT_TRUE(store_->AppendAccuracyPoint("uid-a", point).ok());
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
  ASSERT_TRUE(store_->PutJob(JobNamed("a")).ok());
  ASSERT_TRUE(store_
                  ->Write({.decisions = {{"uid-gone", DecisionNumbered(1)},
                                         {"uid-a", DecisionNumbered(1)}},
                           .accuracy_points = {{"uid-gone", {}}}})
                  .ok());
  EXPECT_THAT(*store_->ListDecisions("uid-a", 0, 10), SizeIs(1));
  EXPECT_THAT(*store_->ListDecisions("uid-gone", 0, 10), IsEmpty());
}

TEST_F(JobStoreTest, CheckpointsAreNewestFirst) {
  ASSERT_TRUE(store_->PutJob(JobNamed("a")).ok());
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
  EXPECT_TRUE(absl::IsFailedPrecondition(store_->PutReport("uid-gone", "{}")));
}

TEST_F(JobStoreTest, TheLatestReportIsKept) {
  ASSERT_TRUE(store_->PutJob(JobNamed("a")).ok());
  EXPECT_EQ(*store_->GetReport("uid-a"), std::nullopt);
  ASSERT_TRUE(store_->PutReport("uid-a", "{\"n\": 1}").ok());
  ASSERT_TRUE(store_->PutReport("uid-a", "{\"n\": 2}").ok());
  EXPECT_EQ(*store_->GetReport("uid-a"), "{\"n\": 2}");
}

TEST_F(JobStoreTest, AuditRecordsAreNewestFirstAndOnlySoMany) {
  options_.audit_records_max = 5;
  Reopen();
  for (int i = 1; i <= 8; ++i) {
    v1::AuditRecord record;
    record.set_method(absl::StrCat("m", i));
    ASSERT_TRUE(store_->AppendAuditRecord(record).ok());
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
  ASSERT_TRUE(store_->AppendAuditRecord({}).ok());
  EXPECT_EQ(store_->ListAuditRecords(0, 1)->at(0).sequence(), 9);
}

TEST_F(JobStoreTest, AnAnsweredRequestIsKnownForAnHour) {
  const absl::Time now = absl::FromUnixSeconds(1'700'000'000);
  const AnsweredRequest request = {.identity = "ann",
                                   .request_id = "r1",
                                   .digest = "d1",
                                   .resource = "namespaces/n/jobs/a",
                                   .time = now};
  ASSERT_TRUE(store_->PutRequest(request).ok());
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
                  ->PutRequest({.identity = "",
                                .request_id = "r3",
                                .digest = "",
                                .resource = "",
                                .time = now + absl::Hours(2)})
                  .ok());
  EXPECT_EQ(*store_->FindRequest("ann", "r1", now), std::nullopt);
}

TEST_F(JobStoreTest, ARequestThatWasNotDoneIsForgotten) {
  const absl::Time now = absl::FromUnixSeconds(1'700'000'000);
  ASSERT_TRUE(store_->PutRequest({"ann", "r1", "d", "r", now}).ok());
  ASSERT_TRUE(store_->PutRequest({"bob", "r1", "d", "r", now}).ok());
  ASSERT_TRUE(store_->Write({.deleted_requests = {{"ann", "r1"}}}).ok());
  EXPECT_EQ(*store_->FindRequest("ann", "r1", now), std::nullopt);
  EXPECT_NE(*store_->FindRequest("bob", "r1", now), std::nullopt);
}

TEST_F(JobStoreTest, ABatchIsAllOrNothing) {
  ASSERT_TRUE(store_->PutJob(JobNamed("a")).ok());
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
  ASSERT_TRUE(store_->PutJob(job).ok());
  EXPECT_EQ(store_->LoadJobs()->at(0).state_reason(), job.state_reason());
}

TEST_F(JobStoreTest, ThreadsShareIt) {
  ASSERT_TRUE(store_->PutJob(JobNamed("a")).ok());
  constexpr int kThreads = 4;
  constexpr int kEach = 50;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const int64_t sequence = t * kEach + i + 1;
        EXPECT_TRUE(
            store_->AppendDecision("uid-a", DecisionNumbered(sequence)).ok());
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
  ASSERT_TRUE(store->PutJob(JobNamed("a")).ok());
  EXPECT_THAT(Names(*store), SizeIs(1));
  EXPECT_THAT(Names(*OpenStore(":memory:")), IsEmpty());
}

}  // namespace
}  // namespace paceline
