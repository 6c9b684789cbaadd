// Jobs whose pushes are not finite, and jobs that learn nothing.

#include <set>
#include <string>

#include "gmock/gmock.h"
#include "tests/common/security/eventually.h"
#include "tests/services/coordinator/control/jobs_testing.h"

namespace paceline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class JobsNotFiniteTest : public JobsTest {
 protected:
  // Of so many samples, for up to two workers.
  std::string CreateJob(const std::string& id, int64_t samples) {
    v1::CreateJobRequest request = Request(id);
    v1::JobSpec& spec = *request.mutable_job()->mutable_spec();
    spec.set_paradigm("asp");
    spec.mutable_workers()->set_max(2);
    spec.mutable_stop()->clear_epochs();
    spec.mutable_stop()->set_samples(samples);
    return Create(request);
  }
  // Until it fails, for nothing that its worker pushes is finite.
  void Diverge(const std::string& job) {
    // What was finite was granted before.
    clock_.Advance(absl::Seconds(1));
    worker().PushNothingFinite();
    worker().PushOn();
    Watch(job)->AwaitState(v1::Job::FAILED);
  }
  // The name of its checkpoint whose weights have diverged.
  std::string Diverged(const std::string& job) {
    v1::ListCheckpointsRequest request;
    request.set_parent(job);
    const auto listed = jobs().ListCheckpoints(request);
    EXPECT_TRUE(listed.ok()) << listed.status();
    for (const v1::Checkpoint& checkpoint : listed->checkpoints()) {
      if (HasDiverged(checkpoint)) return checkpoint.name();
    }
    return "none";
  }
};

TEST_F(JobsNotFiniteTest, AWorkerThatIsToBlameIsKeptOut) {
  StartWithMembers();
  FleetWorker& broken = AddWorker("w1");
  const std::string job = CreateJob("a", 1'000'000'000);
  AwaitTraining(job);
  broken.PushNothingFinite();
  broken.PushOn();
  worker().PushOn();
  EXPECT_THAT(broken.AwaitStop(), HasSubstr("not finite"));
  AwaitTurn();
  AwaitTurn();
  EXPECT_THAT(
      Scrape().ValuesOf("paceline_coordinator_workers_lost_total", "reason"),
      testing::Contains("not finite"));
  const v1::Job now = Get(job);
  EXPECT_EQ(now.state(), v1::Job::RUNNING);
  EXPECT_GT(now.progress().samples(), 0);
  // Another job may have it.
  const std::string other = CreateJob("b", 40);
  Watch(other)->AwaitState(v1::Job::FAILED);
  EXPECT_THAT(Get(other).state_reason(), HasSubstr("nothing was learned"));
}

TEST_F(JobsNotFiniteTest, WhereNothingIsFiniteTheJobFails) {
  StartWithMembers();
  const std::string job = CreateJob("a", 1'000'000);
  AwaitTraining(job);
  Diverge(job);
  EXPECT_THAT(Get(job).state_reason(),
              StartsWith("OUT_OF_RANGE: the last 10 pushes of 1 worker were "
                         "not finite"));
}

TEST_F(JobsNotFiniteTest, ItGoesOnFromWhatWasSavedBefore) {
  StartWithMembers();
  const std::string job = CreateJob("a", 1'000'000);
  AwaitTraining(job);
  worker().Push(1);
  ASSERT_TRUE(Eventually([&] { return Get(job).progress().samples() == 10; }));
  const std::string before = SaveCheckpoint(job, "before");
  Diverge(job);
  EXPECT_THAT(
      Get(job).state_reason(),
      AllOf(HasSubstr("goes on from " + before + " (10 samples)"),
            HasSubstr("paceline job update JOB --set spec.learning_rate")));
  const auto restored = Restore(job);
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ(restored->restore_from(), before);
}

TEST_F(JobsNotFiniteTest, WhatWasDiscardedIsCountedApartWhereverItIsShown) {
  StartWithMembers();
  const std::string job = CreateJob("a", 40);
  AwaitTraining(job);
  worker().Push(1);
  ASSERT_TRUE(Eventually([&] { return Get(job).progress().samples() == 10; }));
  clock_.Advance(absl::Seconds(1));
  worker().PushNothingFinite();
  worker().Push(4);  // All that is left, and ten samples of it again.
  ASSERT_TRUE(Eventually([&] { return Get(job).progress().samples() == 20; }));
  EXPECT_EQ(Get(job).progress().samples_discarded(), 10);
  v1::GetCheckpointRequest get;
  get.set_name(SaveCheckpoint(job, "c"));
  const auto saved = jobs().GetCheckpoint(get);
  ASSERT_TRUE(saved.ok()) << saved.status();
  EXPECT_EQ(saved->samples(), 20);
  EXPECT_EQ(saved->samples_discarded(), 10);
  Restart();
  EXPECT_EQ(Get(job).state(), v1::Job::PAUSED);
  EXPECT_EQ(Get(job).progress().samples(), 20);
  EXPECT_EQ(Get(job).progress().samples_discarded(), 10);
}

TEST_F(JobsNotFiniteTest, WhatHasDivergedIsTakenIfItIsNamed) {
  StartWithMembers();
  const std::string job = CreateJob("a", 1'000'000);
  AwaitTraining(job);
  Diverge(job);
  EXPECT_THAT(Get(job).state_reason(),
              HasSubstr("create a job anew, with a lower learning rate"));
  const std::string diverged = Diverged(job);
  const absl::Status refused = Restore(job).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr(diverged + ", whose weights have diverged"));
  const auto restored = Restore(job, diverged);
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ(restored->restore_from(), diverged);
}

// A job may fail faster than anybody scrapes: the count is there before.
TEST_F(JobsNotFiniteTest, JobsThatFailAreCountedByReason) {
  StartWithMembers();
  const std::string metric = "paceline_coordinator_jobs_failed_total";
  EXPECT_EQ(Scrape().ValuesOf(metric, "reason"),
            (std::set<std::string>{"diverged", "other"}));
  EXPECT_EQ(Scrape().Sum(metric), 0);
  const std::string job = CreateJob("a", 1'000'000);
  AwaitTraining(job);
  Diverge(job);
  EXPECT_THAT(Scrape().text(), HasSubstr(metric + "{reason=\"diverged\"} 1"));
}

TEST_F(JobsNotFiniteTest, AFlatLossIsStillSaidAfterAPauseThatWasTakenBack) {
  StartWithMembers();
  const std::string job = CreateJob("a", 4'000);
  AwaitTraining(job);
  const auto watcher = Watch(job);
  worker().LearnNothing();
  worker().Push(200);
  ASSERT_TRUE(
      Eventually([&] { return Get(job).progress().samples() == 2'000; }));
  clock_.Advance(absl::Seconds(1));  // It looks at itself.
  watcher->AwaitReason("the loss has not fallen");
  ASSERT_TRUE(Pause(job).ok());
  const auto resumed = Resume(job);
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_EQ(resumed->state(), v1::Job::RUNNING);
  EXPECT_THAT(resumed->state_reason(), StartsWith("the loss has not fallen"));
}

TEST_F(JobsNotFiniteTest, AFlatLossIsSaidOfAJobThatHasSucceeded) {
  StartWithMembers();
  const std::string job = CreateJob("a", 10'000);
  AwaitTraining(job);
  worker().LearnNothing();
  worker().PushOn();
  Watch(job)->AwaitState(v1::Job::SUCCEEDED);
  EXPECT_THAT(Get(job).state_reason(), StartsWith("the loss has not fallen"));
}

}  // namespace
}  // namespace paceline
