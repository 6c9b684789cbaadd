// Jobs that cannot start, and those that come after them.

#include "tests/services/coordinator/control/jobs_testing.h"
#include "gmock/gmock.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;

using JobsWaitingTest = JobsTest;

TEST_F(JobsWaitingTest, AJobThatLacksServersHoldsUpNobody) {
  Start();
  AddMembers();
  v1::CreateJobRequest request = Request("a");
  request.mutable_job()->mutable_spec()->set_servers(5);
  const std::string a = Create(request);
  Run("b");
  EXPECT_EQ(Get(a).state(), v1::Job::PENDING);
  EXPECT_EQ(Get(a).state_reason(),
            "waits for 5 parameter servers: 1 connected");
}

TEST_F(JobsWaitingTest, ItStartsOnceTheServersAreThere) {
  Start();
  AddMembers();
  v1::CreateJobRequest request = Request("a");
  request.mutable_job()->mutable_spec()->set_servers(2);
  const std::string a = Create(request);
  AwaitTurn();
  EXPECT_EQ(Get(a).state_reason(),
            "waits for 2 parameter servers: 1 connected");
  AddServer("s1");
  Watch(a)->AwaitState(v1::Job::RUNNING);
}

TEST_F(JobsWaitingTest, AJobWhoseCheckpointIsGoneHoldsUpNobody) {
  Start();
  AddMembers();
  const std::string a = Run("a");
  const std::string checkpoint = SaveCheckpoint(a, "c");
  Restart();
  ASSERT_TRUE(store_->DeleteCheckpoint(checkpoint).ok());
  ASSERT_TRUE(Resume(a).ok());
  AddMembers();
  Run("b");
  EXPECT_EQ(Get(a).state(), v1::Job::PENDING);
  EXPECT_THAT(Get(a).state_reason(), HasSubstr(checkpoint));
}

} // namespace
} // namespace paceline
