// What becomes of jobs whose runs have journals that are too long.

#include <string>

#include "gmock/gmock.h"
#include "services/coordinator/run/journal/run_journal.h"
#include "tests/common/security/eventually.h"
#include "tests/services/coordinator/control/jobs_testing.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;

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
  // What the journal of the job's run begins with.
  journal::RunBegun BegunBy(const std::string& job) {
    auto reader = RunJournalReader::Open(JournalOf(job));
    EXPECT_TRUE(reader.ok()) << reader.status();
    if (!reader.ok()) return {};
    const auto first = reader->Next();
    EXPECT_TRUE(first.ok() && first->has_value());
    return first.ok() && first->has_value() ? (*first)->begun()
                                            : journal::RunBegun();
  }
  // That another life of the coordinator would find.
  int PushesIn(const std::string& job) {
    auto reader = RunJournalReader::Open(JournalOf(job));
    if (!reader.ok()) return 0;
    int pushes = 0;
    while (true) {
      const auto event = reader->Next();
      if (!event.ok() || !event->has_value()) return pushes;
      if ((*event)->said().message().has_push_done()) ++pushes;
    }
  }
};

TEST_F(JobsLongJournalTest, TheJobIsSavedAndGoesOnInANewRun) {
  const std::string job = StartAndRun("a");
  const journal::RunBegun before = BegunBy(job);
  EXPECT_EQ(before.restore_from(), "");
  const auto watcher = Watch(job);
  TrainLong(job);
  const v1::Job told = watcher->AwaitReason("is long");
  EXPECT_EQ(told.state(), v1::Job::RUNNING);
  EXPECT_EQ(told.state_reason(),
            "the journal of its run is long and begins anew: the job is saved "
            "and goes on by itself");
  worker().Push(1);
  const v1::Job saved = watcher->AwaitState(v1::Job::PENDING);
  EXPECT_EQ(saved.state_reason(), told.state_reason());
  EXPECT_EQ(saved.progress().samples(), 110);
  EXPECT_THAT(saved.restore_from(), HasSubstr("/checkpoints/pause-"));
  // Nobody resumes it.
  watcher->AwaitState(v1::Job::RUNNING);
  EXPECT_THAT(server().AwaitHost(2).restore_from(), HasSubstr("/pause-"));
  AwaitTraining(job);
  EXPECT_EQ(Get(job).progress().samples(), 110);
  worker().Push(1);
  AwaitSamples(job, 120);
  const journal::RunBegun after = BegunBy(job);
  EXPECT_NE(after.run(), before.run());
  EXPECT_THAT(after.restore_from(), HasSubstr("/pause-"));
  // That one is not long.
  AwaitTurn();
  AwaitTurn();
  EXPECT_EQ(Get(job).state(), v1::Job::RUNNING);
  EXPECT_EQ(Get(job).state_reason(), "");
}

// There is nothing from which another run could go on, so the journal goes on.
TEST_F(JobsLongJournalTest, WithoutCheckpointsTheJournalGoesOn) {
  keeps_checkpoints_ = false;
  const std::string job = StartAndRun("a");
  const journal::RunBegun before = BegunBy(job);
  TrainLong(job);
  for (int i = 0; i < 20 * kMostEvents; ++i) worker().Heartbeat();
  AwaitTurn();
  AwaitTurn();
  worker().Push(10);
  AwaitSamples(job, 200);
  EXPECT_EQ(Get(job).state(), v1::Job::RUNNING);
  EXPECT_EQ(Get(job).state_reason(), "");
  EXPECT_EQ(BegunBy(job).run(), before.run());
  EXPECT_TRUE(Eventually([&] { return PushesIn(job) == 20; }));
}

// The job would not train until there is room.
TEST_F(JobsLongJournalTest, WhileNoFolderIsUsableTheJournalGoesOn) {
  absl::Mutex mu;
  FolderState folder{"/saved", "id", absl::ResourceExhaustedError("full"),
                     /*known=*/true, /*been_usable=*/true};
  options_.folders = [&] {
    absl::MutexLock lock(&mu);
    return std::vector<FolderState>{folder};
  };
  const std::string job = StartAndRun("a");
  const auto watcher = Watch(job);
  TrainLong(job);
  AwaitTurn();
  AwaitTurn();
  EXPECT_EQ(Get(job).state(), v1::Job::RUNNING);
  EXPECT_EQ(Get(job).state_reason(), "");
  {
    absl::MutexLock lock(&mu);
    folder.status = absl::OkStatus();
  }
  watcher->AwaitReason("is long");
  End();  // It asks the test no more.
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
