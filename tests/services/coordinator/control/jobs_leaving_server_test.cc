// What becomes of jobs when a parameter server that hosts them is told to stop.

#include "gmock/gmock.h"
#include "tests/services/coordinator/control/jobs_testing.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;

using JobsLeavingServerTest = JobsTest;

TEST_F(JobsLeavingServerTest, TheJobGoesOnElsewhere) {
  const std::string job = StartAndRun("a");
  FleetServer& other = AddServer("s1");
  const auto watcher = Watch(job);
  server().Leave();
  const v1::Job told = watcher->AwaitReason("is leaving");
  EXPECT_EQ(told.state(), v1::Job::RUNNING);
  EXPECT_EQ(told.state_reason(),
            "servers/s0 is leaving: the job is saved and goes on by itself");
  worker().PushOn();
  watcher->AwaitState(v1::Job::PENDING);
  server().AwaitUnhost();
  EXPECT_THAT(other.AwaitHost(1).restore_from(), HasSubstr("/pause-"));
  watcher->AwaitState(v1::Job::RUNNING);
}

TEST_F(JobsLeavingServerTest, WithoutAnotherItWaits) {
  const std::string job = StartAndRun("a");
  const auto watcher = Watch(job);
  server().Leave();
  worker().PushOn();
  const v1::Job waits =
      watcher->AwaitReason("waits for 1 parameter servers: 0 connected");
  EXPECT_EQ(waits.state(), v1::Job::PENDING);
  server().Break();
  EXPECT_THAT(AddServer("s0").AwaitHost(1).restore_from(),
              HasSubstr("/pause-"));
}

TEST_F(JobsLeavingServerTest, WhileItIsSavedItCannotBeChanged) {
  const std::string job = StartAndRun("a");
  AddServer("s1");
  const auto watcher = Watch(job);
  server().HoldCheckpoints();
  server().Leave();
  worker().PushOn();
  watcher->AwaitCheckpoint(v1::Checkpoint::WRITING);
  v1::SwitchParadigmRequest request;
  request.set_name(job);
  request.set_paradigm("bsp");
  const absl::Status refused = jobs().SwitchParadigm(request, "test").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("servers/s0 is leaving"));
  server().WriteHeld();
  watcher->AwaitState(v1::Job::PENDING);
  EXPECT_TRUE(jobs().SwitchParadigm(request, "test").ok());
}

TEST_F(JobsLeavingServerTest, WhileItIsSavedItsPoolIsWantedAsBefore) {
  StartWithMembers();
  v1::CreateJobRequest request = Request("a");
  request.mutable_job()->mutable_spec()->mutable_workers()->set_max(3);
  const std::string job = Create(request);
  AwaitTraining(job);
  AddServer("s1");
  const auto watcher = Watch(job);
  server().HoldCheckpoints();
  server().Leave();
  worker().PushOn();
  watcher->AwaitCheckpoint(v1::Checkpoint::WRITING);
  v1::CreateJobRequest other = Request("b");
  v1::WorkerSelector& workers =
      *other.mutable_job()->mutable_spec()->mutable_workers();
  workers.set_min(10);
  workers.add_pools("attic");
  AwaitLook(Create(other));
  EXPECT_EQ(Scrape().Sum("paceline_coordinator_pool_workers_wanted"), 10 + 3);
  server().WriteHeld();
  watcher->AwaitState(v1::Job::PENDING);
  watcher->AwaitState(v1::Job::RUNNING);
}

TEST_F(JobsLeavingServerTest, ItCanBePausedOnTheWay) {
  const std::string job = StartAndRun("a");
  AddServer("s1");
  const auto watcher = Watch(job);
  server().HoldCheckpoints();
  server().Leave();
  watcher->AwaitReason("is leaving");
  EXPECT_TRUE(Pause(job).ok());
  worker().PushOn();
  watcher->AwaitCheckpoint(v1::Checkpoint::WRITING);
  AwaitLook(Create(Request("b")));
  // That of the other, not its own any more.
  EXPECT_EQ(Scrape().Sum("paceline_coordinator_pool_workers_wanted"), 1);
  server().WriteHeld();
  watcher->AwaitState(v1::Job::PAUSED);
}

}  // namespace
}  // namespace paceline
