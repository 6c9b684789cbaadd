// What is kept in memory of jobs that have ended.

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/services/coordinator/control/jobs_testing.h"

namespace paceline {
namespace {

using JobsMemoryTest = JobsTest;

TEST_F(JobsMemoryTest, EventsOfJobsLongEndedAreLetGoUnlessTheyAreWatched) {
  Start();
  std::vector<std::string> jobs;
  std::vector<std::weak_ptr<JobEvents>> events;
  for (int i = 0; i < 50; ++i) {
    jobs.push_back(Create(absl::StrCat("j", i)));
    v1::WatchJobRequest request;
    request.set_name(jobs.back());
    events.push_back(*this->jobs().WatchJob(request));
  }
  const auto watcher = Watch(jobs[1]);
  for (const std::string& job : jobs) ASSERT_TRUE(Cancel(job).ok());
  AwaitTurn();
  AwaitTurn();  // The end of the first, too.
  EXPECT_TRUE(events[0].expired());
  EXPECT_FALSE(events[1].expired());
  EXPECT_FALSE(events[49].expired());
  // Who comes later is told how it ended.
  const auto late = Watch(jobs[0]);
  late->AwaitState(v1::Job::CANCELLED);
  EXPECT_TRUE(late->AwaitEnd().ok());
}

// With no room for any.
TEST_F(JobsMemoryTest, HistoryThatIsLostIsCounted) {
  journal_options_.capacity = 0;
  StartWithMembers();
  EXPECT_EQ(Metric("paceline_coordinator_history_rows_lost_total"), 0);
  const std::string job = Run("a");
  const auto watcher = Watch(job);
  v1::SwitchParadigmRequest request;
  request.set_name(job);
  request.set_paradigm("bsp");
  ASSERT_TRUE(jobs().SwitchParadigm(request, "test").ok());
  watcher->Await("the switch", [](const v1::WatchJobResponse& response) {
    return response.decision().kind() == "switch";
  });
  AwaitTurn();
  AwaitTurn();
  // That it was created, that it trains, and the switch.
  EXPECT_GE(Metric("paceline_coordinator_history_rows_lost_total"), 3);
}

}  // namespace
}  // namespace paceline
