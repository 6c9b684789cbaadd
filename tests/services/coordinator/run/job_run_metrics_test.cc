// What a run exports while it trains.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/services/coordinator/run/job_run_testing.h"

namespace paceline {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class JobRunMetricsTest : public JobRunTest {
 protected:
  // Seconds pass, and the run says how far it is.
  void AwaitProgress() {
    const size_t told = History().progress.size();
    clock_.Advance(absl::Seconds(1));
    AwaitProgressBeyond(told);
  }
};

TEST_F(JobRunMetricsTest, WorkersAndWhatIsDecidedAboutThem) {
  spec_.set_paradigm("ssp:s=2");
  StartTraining();
  AwaitProgress();
  EXPECT_THAT(Metric("paceline_coordinator_threshold_iterations"),
              testing::ElementsAre(2));
  EXPECT_THAT(Metric("paceline_coordinator_worker_batch_samples"),
              testing::ElementsAre(10, 10));
  EXPECT_THAT(Metric("paceline_coordinator_workers_joined_total"),
              testing::ElementsAre(2));
  EXPECT_THAT(Metric("paceline_coordinator_samples_granted_total"),
              testing::ElementsAre(20));
  EXPECT_THAT(Metric("paceline_coordinator_samples_wanted"),
              testing::ElementsAre(40));
  // Each of the two was let go once at the beginning.
  EXPECT_TRUE(worker(0).SayPushed(first_grants()[0]).ok());
  worker(0).Next(FakeWorker::Kind::kGrant);
  EXPECT_THAT(Metric("paceline_coordinator_decisions_total", "within_bound"),
              testing::ElementsAre(3));
  EXPECT_THAT(Metric("paceline_coordinator_samples_counted_total"),
              testing::ElementsAre(10));
  worker(1).Break();
  AwaitDecision("lost (stream broken)");
  AwaitProgress();
  EXPECT_THAT(Metric("paceline_coordinator_worker_batch_samples"), SizeIs(1));
}

TEST_F(JobRunMetricsTest, GroupsAreThereWhileTheParadigmMakesThem) {
  spec_.set_paradigm("cgp");
  StartTraining();
  AwaitProgress();
  EXPECT_THAT(Metric("paceline_coordinator_groups"),
              testing::ElementsAre(testing::Ge(1)));
  EXPECT_THAT(Metric("paceline_coordinator_threshold_iterations"), IsEmpty());
  EXPECT_THAT(Metric("paceline_coordinator_paradigm_info", "cgp"), SizeIs(1));
  ASSERT_TRUE(job_->Switch(*ParseParadigm("ssp:s=1"), "a test").ok());
  AwaitProgress();
  EXPECT_THAT(Metric("paceline_coordinator_groups"), IsEmpty());
  EXPECT_THAT(Metric("paceline_coordinator_paradigm_info", "cgp"), IsEmpty());
  EXPECT_THAT(Metric("paceline_coordinator_paradigm_info", "ssp"), SizeIs(1));
  EXPECT_THAT(Metric("paceline_coordinator_paradigm_switches_total", "ssp"),
              testing::ElementsAre(1));
}

TEST_F(JobRunMetricsTest, AtTheEndNoWorkerIsLeft) {
  StartTraining();
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(worker(i).SayPushed(first_grants()[i]).ok());
  }
  WorkToTheEnd();
  EXPECT_TRUE(Outcome().status.ok());
  EXPECT_THAT(Metric("paceline_coordinator_worker_gap_iterations"), IsEmpty());
  EXPECT_THAT(Metric("paceline_coordinator_workers"), testing::ElementsAre(0));
  EXPECT_THAT(Metric("paceline_coordinator_samples_counted_total"),
              testing::ElementsAre(40));
}

}  // namespace
}  // namespace paceline
