// Jobs that cannot start, and those that come after them.

#include "gmock/gmock.h"
#include "tests/services/coordinator/control/jobs_testing.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;

using JobsWaitingTest = JobsTest;

TEST_F(JobsWaitingTest, AJobThatLacksServersHoldsUpNobody) {
  StartWithMembers();
  v1::CreateJobRequest request = Request("a");
  request.mutable_job()->mutable_spec()->set_servers(5);
  const std::string a = Create(request);
  Run("b");
  EXPECT_EQ(Get(a).state(), v1::Job::PENDING);
  EXPECT_EQ(Get(a).state_reason(),
            "waits for 5 parameter servers: 1 connected");
}

TEST_F(JobsWaitingTest, ItStartsOnceTheServersAreThere) {
  StartWithMembers();
  v1::CreateJobRequest request = Request("a");
  request.mutable_job()->mutable_spec()->set_servers(2);
  const std::string a = Create(request);
  AwaitTurn();
  EXPECT_EQ(Get(a).state_reason(),
            "waits for 2 parameter servers: 1 connected");
  AddServer("s1");
  Watch(a)->AwaitState(v1::Job::RUNNING);
}

TEST_F(JobsWaitingTest, AJobThatWaitsForWorkersWantsThemOfItsPool) {
  constexpr char kWanted[] = "paceline_coordinator_pool_workers_wanted";
  Start();
  AddServer("s0");
  const auto wait_for = [&](const std::string& pool, uint32_t min) {
    v1::CreateJobRequest request = Request("of-" + pool);
    v1::WorkerSelector& workers =
        *request.mutable_job()->mutable_spec()->mutable_workers();
    workers.set_min(min);
    workers.add_pools(pool);
    const std::string job = Create(request);
    AwaitLook(job);
    return job;
  };
  const std::string job = wait_for("attic", 5);
  EXPECT_EQ(Scrape().Sum(kWanted), 5);
  EXPECT_THAT(Scrape().ValuesOf(kWanted, "pool"),
              testing::ElementsAre("attic"));
  ASSERT_TRUE(Cancel(job).ok());
  wait_for("cellar", 7);
  EXPECT_EQ(Scrape().Sum(kWanted), 7);
  EXPECT_THAT(Scrape().ValuesOf(kWanted, "pool"),
              testing::ElementsAre("cellar"));
}

TEST_F(JobsWaitingTest, AJobWhoseCheckpointIsGoneHoldsUpNobody) {
  const std::string a = StartAndRun("a");
  const std::string checkpoint = SaveCheckpoint(a, "c");
  Restart();
  ASSERT_TRUE(store_->DeleteCheckpoint(checkpoint).ok());
  ASSERT_TRUE(Resume(a).ok());
  AddMembers();
  Run("b");
  EXPECT_EQ(Get(a).state(), v1::Job::PENDING);
  EXPECT_THAT(Get(a).state_reason(), HasSubstr(checkpoint));
}

// Its last worker goes: what it has done is saved, and it waits for others.
TEST_F(JobsWaitingTest, AJobWithoutWorkersWaitsForOthers) {
  const std::string job = StartAndRun("a");
  const auto watcher = Watch(job);
  worker().Break();
  clock_.Advance(2 * options_.lease);
  const v1::Job waits = watcher->AwaitState(v1::Job::PENDING);
  EXPECT_EQ(waits.state_reason(), "its workers are gone: waits for others");
  EXPECT_THAT(waits.restore_from(), HasSubstr("/checkpoints/pause-"));
  AddWorker("w1");
  watcher->AwaitState(v1::Job::RUNNING);
}

TEST_F(JobsWaitingTest, TheParametersOfARunningJobCount) {
  // Each has 40 of 4 bytes.
  options_.quota.set_parameter_bytes(200);
  StartAndRun("a");
  AddWorker("w1");
  const std::string b = Create("b");
  const v1::Job ended =
      Watch(b)
          ->Await("the verdict",
                  [](const v1::WatchJobResponse& response) {
                    return response.job().state() == v1::Job::FAILED ||
                           response.job().state() == v1::Job::RUNNING;
                  })
          .job();
  EXPECT_EQ(ended.state(), v1::Job::FAILED);
  EXPECT_THAT(ended.state_reason(), HasSubstr("RESOURCE_EXHAUSTED"));
}

TEST_F(JobsWaitingTest, APauseSaysWhetherTheJobHasTrained) {
  Start();
  const std::string fresh = Create("a");
  EXPECT_EQ(Pause(fresh)->state_reason(), "paused before it began to train");
  AddMembers();
  const std::string job = Run("b");
  const auto watcher = Watch(job);
  ASSERT_TRUE(Pause(job).ok());
  worker().PushOn();
  watcher->AwaitState(v1::Job::PAUSED);
  worker().Break();
  ASSERT_TRUE(Resume(job).ok());
  EXPECT_EQ(Pause(job)->state_reason(), "paused");
}

}  // namespace
}  // namespace paceline
