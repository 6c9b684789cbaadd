#include "services/coordinator/run/iteration_log.h"

#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

v1::PushDone Report(int64_t iteration, double compute = 1) {
  v1::PushDone report;
  report.set_iteration(iteration);
  report.set_samples(32);
  report.mutable_seconds()->set_compute(compute);
  return report;
}

std::vector<int64_t> Sequences(const std::vector<v1::Iteration>& iterations) {
  std::vector<int64_t> sequences;
  for (const v1::Iteration& iteration : iterations) {
    sequences.push_back(iteration.sequence());
  }
  return sequences;
}

TEST(IterationLogTest, KeepsAllOfAReport) {
  IterationLog log;
  v1::PushDone report = Report(7);
  report.mutable_seconds()->set_load(0.125);
  report.mutable_seconds()->set_push(0.25);
  report.mutable_seconds()->set_pull(0.75);
  report.mutable_seconds()->set_parked(0.5);
  report.mutable_seconds()->set_wait(2);
  report.set_discarded(true);
  log.Add("w1", 3.5, report);
  ASSERT_EQ(log.After(0, 10).size(), 1u);
  const v1::Iteration kept = log.After(0, 10)[0];
  EXPECT_EQ(kept.sequence(), 1);
  EXPECT_EQ(kept.worker(), "w1");
  EXPECT_EQ(kept.seconds(), 3.5);
  EXPECT_EQ(kept.iteration(), 7);
  EXPECT_EQ(kept.samples(), 32);
  EXPECT_EQ(kept.phases().SerializeAsString(),
            report.seconds().SerializeAsString());
  EXPECT_TRUE(kept.discarded());
}

TEST(IterationLogTest, IsReadInPages) {
  IterationLog log;
  for (int i = 1; i <= 5; ++i) log.Add("w0", i, Report(i));
  EXPECT_THAT(Sequences(log.After(0, 2)), ElementsAre(1, 2));
  EXPECT_THAT(Sequences(log.After(2, 2)), ElementsAre(3, 4));
  EXPECT_THAT(Sequences(log.After(4, 2)), ElementsAre(5));
  EXPECT_THAT(log.After(5, 2), IsEmpty());
}

TEST(IterationLogTest, TheOldestGo) {
  IterationLog log;
  constexpr int64_t kMore = 3;
  for (size_t i = 0; i < IterationLog::kKept + kMore; ++i) {
    log.Add("w0", static_cast<double>(i), Report(1));
  }
  const std::vector<v1::Iteration> kept = log.After(0, 2 * IterationLog::kKept);
  ASSERT_EQ(kept.size(), IterationLog::kKept);
  EXPECT_EQ(kept.front().sequence(), kMore + 1);
  // A page that begins where nothing is any more goes on with what there is.
  EXPECT_THAT(Sequences(log.After(1, 1)), ElementsAre(kMore + 1));
}

TEST(IterationLogTest, ACourseThatTheJobWentBackFromIsForgotten) {
  IterationLog log;
  for (int i = 1; i <= 4; ++i) log.Add("w0", i, Report(i));
  log.Add("w0", 2.5, Report(1));
  // Numbers are never given twice: a reader who has seen 4 sees what follows.
  EXPECT_THAT(Sequences(log.After(0, 10)), ElementsAre(1, 2, 5));
  EXPECT_THAT(Sequences(log.After(4, 10)), ElementsAre(5));
}

TEST(IterationLogTest, WhatIsNoTimeIsLeftOut) {
  IterationLog log;
  log.Add("w0", 1, Report(1, -1));
  log.Add("w0", 1, Report(1, 90'000));
  log.Add("w0", 1, Report(1, std::numeric_limits<double>::quiet_NaN()));
  log.Add("w0", 1, Report(1, std::numeric_limits<double>::infinity()));
  EXPECT_THAT(log.After(0, 10), IsEmpty());
}

TEST(IterationLogTest, IsReadWhileItIsWritten) {
  IterationLog log;
  std::thread writer([&] {
    for (int i = 1; i <= 2000; ++i) log.Add("w0", i, Report(i));
  });
  int64_t seen = 0;
  while (seen < 2000) {
    for (const v1::Iteration& iteration : log.After(seen, 100)) {
      ASSERT_EQ(iteration.sequence(), seen + 1);
      seen = iteration.sequence();
    }
  }
  writer.join();
}

}  // namespace
}  // namespace paceline
