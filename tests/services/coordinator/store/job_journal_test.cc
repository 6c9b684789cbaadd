#include "services/coordinator/store/job_journal.h"

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "services/coordinator/store/sqlite_database.h"
#include "tests/common/test_folder.h"
#include "tests/services/coordinator/store/store_testing.h"

namespace paceline {
namespace {

using ::testing::SizeIs;

constexpr absl::Duration kLong = absl::Minutes(1);

class JobJournalTest : public ::testing::Test {
 protected:
  JobJournalTest() {
    EXPECT_TRUE(store_->Write({.jobs = {JobNamed("a")}}).ok());
  }

  // Another program that does not let go of the file.
  Database Block() {
    Database blocker = *Database::Open(path_);
    EXPECT_TRUE(blocker.Execute("BEGIN IMMEDIATE").ok());
    return blocker;
  }

  const TestFolder directory_;
  const std::string path_ = directory_.Path("store.db");
  std::unique_ptr<JobStore> store_ =
      OpenStore(path_, {.busy_timeout = absl::Milliseconds(1)});
};

// Until a write has failed.
void AwaitFailure(const JobJournal& journal) {
  while (journal.counts().failures == 0) std::this_thread::yield();
}

TEST_F(JobJournalTest, WhatIsFlushedIsInTheStore) {
  JobJournal journal(store_.get());
  for (int i = 1; i <= 500; ++i) {
    journal.AppendDecision("uid-a", DecisionNumbered(i));
  }
  journal.AppendAccuracyPoint("uid-a", {});
  journal.AppendAuditRecord({});
  ASSERT_TRUE(journal.Flush(kLong).ok());
  EXPECT_THAT(*store_->ListDecisions("uid-a", 0, 1000), SizeIs(500));
  EXPECT_THAT(*store_->ListAccuracyPoints("uid-a", 0, 10), SizeIs(1));
  EXPECT_THAT(*store_->ListAuditRecords(0, 10), SizeIs(1));
  EXPECT_EQ(journal.counts().written, 502);
  EXPECT_EQ(journal.counts().dropped, 0);
}

TEST_F(JobJournalTest, ItsEndWritesWhatWaits) {
  {
    JobJournal journal(store_.get());
    for (int i = 1; i <= 100; ++i) {
      journal.AppendDecision("uid-a", DecisionNumbered(i));
    }
  }
  EXPECT_EQ(*store_->LastDecisionSequence("uid-a"), 100);
}

TEST_F(JobJournalTest, WhileTheFileIsHeldDecisionsBeyondTheRoomAreDropped) {
  JobJournal journal(store_.get(),
                     {.capacity = 10, .retry_delay = absl::Milliseconds(1)});
  std::optional<Database> blocker(Block());
  journal.AppendDecision("uid-a", DecisionNumbered(1));
  AwaitFailure(journal);
  // The first is with the thread; ten may wait, five are too many.
  for (int i = 2; i <= 16; ++i) {
    journal.AppendDecision("uid-a", DecisionNumbered(i));
  }
  EXPECT_EQ(journal.counts().dropped, 5);
  journal.AppendAuditRecord({});
  journal.AppendAccuracyPoint("uid-a", {});
  EXPECT_EQ(journal.counts().dropped, 5);
  const absl::Status late = journal.Flush(absl::Milliseconds(1));
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
  blocker.reset();
  ASSERT_TRUE(journal.Flush(kLong).ok());
  EXPECT_EQ(*store_->LastDecisionSequence("uid-a"), 11);
  EXPECT_THAT(*store_->ListDecisions("uid-a", 0, 100), SizeIs(11));
  EXPECT_THAT(*store_->ListAuditRecords(0, 10), SizeIs(1));
  EXPECT_EQ(journal.counts().failed, 0);
}

TEST_F(JobJournalTest, ItsEndDoesNotWaitForAFileThatIsHeld) {
  std::optional<Database> blocker(Block());
  std::optional<JobJournal> journal;
  journal.emplace(store_.get(), JournalOptions{.retry_delay = kLong});
  journal->AppendDecision("uid-a", DecisionNumbered(1));
  AwaitFailure(*journal);
  journal.reset();
  blocker.reset();
  EXPECT_EQ(*store_->LastDecisionSequence("uid-a"), 0);
}

TEST_F(JobJournalTest, WhatCannotBeWrittenIsCounted) {
  {
    Database other = *Database::Open(path_);
    ASSERT_TRUE(other.Execute("DROP TABLE decisions").ok());
  }
  JobJournal journal(store_.get());
  journal.AppendDecision("uid-a", DecisionNumbered(1));
  ASSERT_TRUE(journal.Flush(kLong).ok());
  EXPECT_EQ(journal.counts().failed, 1);
  // What comes after it is not held up.
  journal.AppendAuditRecord({});
  ASSERT_TRUE(journal.Flush(kLong).ok());
  EXPECT_THAT(*store_->ListAuditRecords(0, 10), SizeIs(1));
  EXPECT_EQ(journal.counts().written, 1);
}

TEST_F(JobJournalTest, ADeletedJobsRowsAreLeftOut) {
  JobJournal journal(store_.get());
  ASSERT_TRUE(store_->DeleteJob("uid-a").ok());
  journal.AppendDecision("uid-a", DecisionNumbered(1));
  ASSERT_TRUE(journal.Flush(kLong).ok());
  EXPECT_EQ(journal.counts().failed, 0);
}

TEST_F(JobJournalTest, ManyThreadsAppend) {
  JobJournal journal(store_.get());
  constexpr int kThreads = 4;
  constexpr int kEach = 1000;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        journal.AppendDecision("uid-a", DecisionNumbered(t * kEach + i + 1));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(journal.Flush(kLong).ok());
  EXPECT_THAT(*store_->ListDecisions("uid-a", 0, 10'000),
              SizeIs(kThreads * kEach));
}

}  // namespace
}  // namespace paceline
