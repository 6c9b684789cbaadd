// Jobs whose pushes are not finite, and jobs that learn nothing.

#include "gmock/gmock.h"
#include "tests/services/coordinator/control/jobs_testing.h"

namespace paceline {
namespace {

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
  worker().PushNothingFinite();
  worker().PushOn();
  Watch(job)->AwaitState(v1::Job::FAILED);
  EXPECT_THAT(Get(job).state_reason(),
              StartsWith("OUT_OF_RANGE: the last 10 pushes of 1 worker were "
                         "not finite"));
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
