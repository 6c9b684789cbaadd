// What the coordinator's log calls a warning or an error.

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/common/security/eventually.h"
#include "tests/common/security/log_capture.h"
#include "tests/services/coordinator/control/jobs_testing.h"

namespace paceline {
namespace {

class JobsLogTest : public JobsTest {
 protected:
  // A line of that level whose message begins so, once it is there.
  bool Logged(const std::string& level, const std::string& message) {
    return Eventually([&] { return Lines(level, message) > 0; });
  }
  // The job of this watch is to be paused, and its weights cannot be saved.
  std::unique_ptr<JobWatcher> PauseOnAFullDisk() {
    const std::string job = StartAndRun("a");
    auto watcher = Watch(job);
    server().FailCheckpoints(absl::ResourceExhaustedError("the disk is full"));
    EXPECT_TRUE(Pause(job).ok());
    worker().PushOn();
    watcher->AwaitReason("cannot be saved");
    return watcher;
  }
  int Lines(const std::string& level, const std::string& message = "") const {
    return log_.Count(absl::StrCat("\"level\":\"", level,
                                   "\",\"role\":\"paceline\",\"message\":\"",
                                   message));
  }

  const LogCapture log_;
};

TEST_F(JobsLogTest, AWorkerThatIsLostIsAWarning) {
  StartAndRun("a");
  EXPECT_EQ(Lines("warning"), 0);
  worker().Break();
  EXPECT_TRUE(Logged("warning", "lost (stream broken)"));
  EXPECT_EQ(Lines("error"), 0);
}

TEST_F(JobsLogTest, AServerThatTakesAJobWithItAndTheJobsEndAreErrors) {
  const std::string job = StartAndRun("a");
  const auto watcher = Watch(job);
  EXPECT_EQ(Lines("error"), 0);
  server().Break();
  watcher->AwaitState(v1::Job::FAILED);
  EXPECT_TRUE(Logged("error", "gone, with its part of the jobs' models"));
  EXPECT_TRUE(Logged("error", "run ended"));
  EXPECT_EQ(log_.Count(absl::StrCat("\"jobs\":[\"", job, "\"]")), 1);
}

TEST_F(JobsLogTest, AServerWhoseWeightsWaitToBeSavedIsAnError) {
  PauseOnAFullDisk();
  EXPECT_EQ(Lines("error"), 0);
  server().Break();
  EXPECT_TRUE(Logged("error", "gone, with its part of the jobs' models"));
}

TEST_F(JobsLogTest, ThatTheWeightsAreSavedAfterAllIsNoWarning) {
  const auto watcher = PauseOnAFullDisk();
  EXPECT_TRUE(Logged("warning", "the trained weights could not be saved"));
  server().FailCheckpoints(absl::OkStatus());
  clock_.Advance(absl::Seconds(1));
  watcher->AwaitState(v1::Job::PAUSED);
  EXPECT_TRUE(Logged("info", "the trained weights are saved as"));
}

TEST_F(JobsLogTest, AServerThatGoesWhenItsJobsAreSavedIsNeither) {
  StartAndRun("a");
  server().Leave();
  worker().PushOn();
  server().AwaitUnhost();
  server().Break();
  EXPECT_TRUE(Logged("info", "run ended"));
  EXPECT_EQ(Lines("warning"), 0);
  EXPECT_EQ(Lines("error"), 0);
}

TEST_F(JobsLogTest, WhoGoesWithoutWorkIsNeither) {
  StartWithMembers();
  worker().Break();
  server().Break();
  EXPECT_TRUE(Logged("info", "gone"));
  EXPECT_EQ(Lines("warning"), 0);
  EXPECT_EQ(Lines("error"), 0);
}

TEST_F(JobsLogTest, AJobThatIsPausedCostsNobodyWork) {
  const std::string job = StartAndRun("a");
  const auto watcher = Watch(job);
  ASSERT_TRUE(Pause(job).ok());
  worker().PushOn();
  watcher->AwaitState(v1::Job::PAUSED);
  EXPECT_TRUE(Logged("info", "run ended"));
  EXPECT_EQ(Lines("warning"), 0);
  EXPECT_EQ(Lines("error"), 0);
}

}  // namespace
}  // namespace paceline
