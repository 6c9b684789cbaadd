// What becomes of jobs whose runs have journals that are too long.

#include <filesystem>
#include <string>

#include "tests/common/security/eventually.h"
#include "tests/services/coordinator/control/jobs_testing.h"

namespace paceline {
namespace {

// Far more than a run begins with.
constexpr int kMostEvents = 100;

class JobsLongJournalTest : public JobsTest {
 protected:
  JobsLongJournalTest() {
    options_.most_events = kMostEvents;
    KeepJournals();
  }

  // Ten times, and then the journal gets long. It holds one more grant.
  void TrainLong(const std::string& job) {
    worker().Push(10);
    AwaitSamples(job, 100);
    for (int i = 0; i < kMostEvents; ++i)
      worker().Heartbeat();  // An event each.
  }
  bool HasJournal(const std::string& job) {
    return std::filesystem::exists(JournalOf(job));
  }
};

// There is nothing from which another run could go on.
TEST_F(JobsLongJournalTest, WithoutCheckpointsTheJobTrainsOnWithoutAJournal) {
  keeps_checkpoints_ = false;
  const std::string job = StartAndRun("a");
  EXPECT_TRUE(HasJournal(job));
  TrainLong(job);
  EXPECT_TRUE(Eventually([&] { return !HasJournal(job); }));
  worker().Push(10);
  AwaitSamples(job, 200);
  AwaitTurn();
  AwaitTurn();
  EXPECT_EQ(Get(job).state(), v1::Job::RUNNING);
  EXPECT_EQ(Get(job).state_reason(), "");
  EXPECT_FALSE(HasJournal(job));
  // In the run in which it began.
  ASSERT_TRUE(Cancel(job).ok());
  Watch(job)->AwaitState(v1::Job::CANCELLED);
  EXPECT_EQ(Get(job).progress().samples(), 200);
}

// Its last snapshots would not be evaluated any more.
TEST_F(JobsLongJournalTest, WhoeverHasTrainedIsNotInterrupted) {
  StartWithMembers();
  FleetWorker& evaluator = AddWorker("e0", /*evaluator=*/true);
  v1::CreateJobRequest request = Request("a");
  v1::JobSpec& spec = *request.mutable_job()->mutable_spec();
  spec.mutable_stop()->set_epochs(1);
  spec.mutable_evaluation()->set_disabled(false);
  const std::string job = Create(request);
  AwaitTraining(job);
  worker().PushOn();
  evaluator.AwaitAssigned();
  EXPECT_TRUE(
      Eventually([&] { return Get(job).progress().phase() == "evaluating"; }));
  for (int i = 0; i <= kMostEvents; ++i) evaluator.Heartbeat();
  AwaitTurn();
  AwaitTurn();
  EXPECT_EQ(Get(job).state(), v1::Job::RUNNING) << Get(job).state_reason();
  EXPECT_EQ(Get(job).state_reason(), "");
}

}  // namespace
}  // namespace paceline
