// What a job's history says of the job itself, and what its report has of all
// its runs.

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/services/coordinator/control/jobs_testing.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class JobsHistoryTest : public JobsTest {
 protected:
  std::vector<v1::Decision> Decisions(const std::string& job) {
    v1::ListDecisionsRequest request;
    request.set_parent(job);
    request.set_page_size(1000);
    const auto listed = jobs().ListDecisions(request);
    EXPECT_TRUE(listed.ok()) << listed.status();
    if (!listed.ok()) return {};
    return {listed->decisions().begin(), listed->decisions().end()};
  }
  v1::Decision Last(const std::string& job) { return Decisions(job).back(); }
  // Of the kind "job", in their order; all decisions are numbered without gaps.
  std::vector<std::string> History(const std::string& job) {
    std::vector<std::string> texts;
    int64_t sequence = 0;
    for (const v1::Decision& decision : Decisions(job)) {
      EXPECT_EQ(decision.sequence(), ++sequence);
      if (decision.kind() == "job") texts.push_back(decision.text());
    }
    return texts;
  }
  std::vector<v1::Iteration> Iterations(const std::string& job) {
    std::vector<v1::Iteration> iterations;
    v1::ListIterationsRequest request;
    request.set_parent(job);
    request.set_page_size(2);
    do {
      const auto page = jobs().ListIterations(request);
      EXPECT_TRUE(page.ok()) << page.status();
      if (!page.ok()) break;
      iterations.insert(iterations.end(), page->iterations().begin(),
                        page->iterations().end());
      request.set_page_token(page->next_page_token());
    } while (!request.page_token().empty());
    return iterations;
  }
  nlohmann::json Report(const std::string& job) {
    v1::GetJobReportRequest request;
    request.set_name(job);
    const auto report = jobs().GetJobReport(request);
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? nlohmann::json::parse(report->json())
                       : nlohmann::json();
  }
  void Set(const std::string& job, double rate) {
    v1::UpdateJobRequest request;
    request.mutable_job()->set_name(job);
    request.mutable_job()->mutable_spec()->set_learning_rate(rate);
    request.mutable_update_mask()->add_paths("spec.learning_rate");
    request.mutable_update_mask()->add_paths("spec.stop.target");
    request.mutable_update_mask()->add_paths("labels");
    EXPECT_TRUE(jobs().UpdateJob(request, "ben").ok());
  }
  // It is paused after so many pushes more.
  void PauseAfter(const std::string& job, int pushes) {
    const auto watcher = Watch(job);
    worker().Push(pushes);
    AwaitSamples(job, trained_ += 10 * pushes);
    clock_.Advance(absl::Seconds(1));
    EXPECT_TRUE(Pause(job).ok());
    worker().Push(1);
    trained_ += 10;
    watcher->AwaitState(v1::Job::PAUSED);
  }

 private:
  int64_t trained_ = 0;
};

TEST_F(JobsHistoryTest, SaysWhoHasDoneWhatAndWhatBecameOfIt) {
  const std::string job = StartAndRun("a");
  Set(job, 0.25);
  PauseAfter(job, 3);
  ASSERT_TRUE(Resume(job).ok());
  AwaitTraining(job);
  ASSERT_TRUE(Cancel(job).ok());
  Watch(job)->AwaitState(v1::Job::CANCELLED);
  EXPECT_THAT(
      History(job),
      ElementsAre(StartsWith("created by "), "RUNNING",
                  "learning_rate 0.25, stop.target unset, labels, set by ben",
                  StartsWith("paused by "), "PAUSED", StartsWith("resumed by "),
                  "RUNNING", StartsWith("cancelled by "),
                  StartsWith("CANCELLED: cancelled by ")));
}

TEST_F(JobsHistoryTest, WhatIsDoneToAJobWithoutARunIsTold) {
  Start();
  const std::string job = Create("a");
  v1::SwitchParadigmRequest request;
  request.set_name(job);
  request.set_paradigm("asp");
  request.set_reason("to try it");
  ASSERT_TRUE(jobs().SwitchParadigm(request, "ben").ok());
  EXPECT_THAT(History(job), ElementsAre(StartsWith("created by "),
                                        "paradigm asp, set by ben"));
}

TEST_F(JobsHistoryTest, ACoordinatorThatIsKilledIsToldOf) {
  const std::string job = StartAndRun("a");
  const std::vector<std::string> before = History(job);
  Restart();
  const std::vector<std::string> after = History(job);
  ASSERT_EQ(after.size(), before.size() + 1);
  EXPECT_THAT(after.back(), StartsWith("PAUSED: "));
  EXPECT_THAT(after.back(), HasSubstr("the coordinator has restarted"));
}

TEST_F(JobsHistoryTest, TheReportIsOfAllRuns) {
  const std::string job = StartAndRun("a");
  PauseAfter(job, 3);
  EXPECT_EQ(Report(job).at("pushes"), 4);
  EXPECT_GE(Last(job).seconds(), 1);
  ASSERT_TRUE(Resume(job).ok());
  AwaitTraining(job);
  worker().Push(2);
  AwaitSamples(job, 60);
  const auto report = Report(job);
  EXPECT_EQ(report.at("pushes"), 6);
  EXPECT_EQ(report.at("samples"), 60);
  ASSERT_EQ(report.at("workers").size(), 1);
  EXPECT_EQ(report.at("workers")[0].at("iterations"), 6);
}

TEST_F(JobsHistoryTest, IterationsAreOfAllRunsAndOutliveThem) {
  const std::string job = StartAndRun("a");
  PauseAfter(job, 3);
  EXPECT_EQ(Iterations(job).size(), 4u);
  ASSERT_TRUE(Resume(job).ok());
  AwaitTraining(job);
  worker().Push(2);
  AwaitSamples(job, 60);
  ASSERT_TRUE(Cancel(job).ok());
  Watch(job)->AwaitState(v1::Job::CANCELLED);
  const std::vector<v1::Iteration> all = Iterations(job);
  ASSERT_EQ(all.size(), 6u);
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].sequence(), static_cast<int64_t>(i) + 1);
    EXPECT_EQ(all[i].worker(), "w0");
    EXPECT_EQ(all[i].samples(), 10u);
  }
  EXPECT_GE(all.back().seconds(), 1);
}

TEST_F(JobsHistoryTest, AJobThatHasNotRunHasNoIterations) {
  Start();
  EXPECT_THAT(Iterations(Create("a")), IsEmpty());
}

}  // namespace
}  // namespace paceline
