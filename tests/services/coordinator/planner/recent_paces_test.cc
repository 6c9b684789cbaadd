#include "services/coordinator/planner/recent_paces.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/services/coordinator/planner/measured_workers.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Iterations of these seconds, each reported when the one before it was over.
MeasuredWorker Worker(const std::string& name,
                      const std::vector<double>& seconds) {
  MeasuredWorker worker{.name = name};
  double at = 0;
  for (const double each : seconds) {
    at += each;
    worker.iterations.push_back(
        {.compute = absl::Seconds(each), .samples = kBatch, .at = at});
  }
  return worker;
}

std::vector<double> Joined(std::vector<double> first,
                           const std::vector<double>& then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

TEST(RecentPacesTest, SteadyTimesAreKnownSoonerThanThoseThatScatter) {
  EXPECT_THAT(WhoIsUnmeasured({}), HasSubstr("no worker"));
  EXPECT_THAT(WhoIsUnmeasured({Worker("w0", {1, 1, 1})}), HasSubstr("w0"));
  EXPECT_THAT(WhoIsUnmeasured({Worker("w0", {1, 1, 1, 1})}), IsEmpty());
  EXPECT_THAT(WhoIsUnmeasured({Worker("w0", {1, 4, 1, 4, 1, 4})}),
              HasSubstr("6 of 12"));
}

TEST(RecentPacesTest, WhatIsKeptIsOfTheSameTime) {
  // In 64 seconds, and in 256.
  std::vector<MeasuredWorker> workers = {
      Worker("w0", std::vector<double>(64, 1)),
      Worker("w1", std::vector<double>(64, 1)),
      Worker("w2", std::vector<double>(64, 4))};
  for (size_t i : {0, 1}) {
    for (MeasuredIteration& it : workers[i].iterations) it.at += 192;
  }
  KeepRecent({.batch_size = kBatch}, 256, workers);
  EXPECT_NEAR(static_cast<double>(workers[0].iterations.size()), 48, 1);
  // Sixteen of each, however old.
  EXPECT_EQ(workers[2].iterations.size(), 16u);
}

TEST(RecentPacesTest, AWorkerThatHasBecomeAnotherIsKnownByItsLatest) {
  const std::vector<double> slower(8, 3);
  std::vector<MeasuredWorker> workers = {
      Worker("w0", Joined(std::vector<double>(30, 1), slower))};
  KeepRecent({.batch_size = kBatch}, 54, workers);
  EXPECT_EQ(workers[0].iterations.size(), 8u);
  EXPECT_NEAR(LatestPace(workers[0]) * kBatch, 3, 1e-9);
  // Times that scatter as much say no such thing.
  std::vector<double> scattering;
  for (int i = 0; i < 30; ++i) scattering.push_back(i % 2 == 0 ? 0.1 : 4);
  workers = {Worker("w0", Joined(scattering, slower))};
  KeepRecent({.batch_size = kBatch}, 85, workers);
  EXPECT_GT(workers[0].iterations.size(), 8u);
}

TEST(RecentPacesTest, SpeedIsCountedOverWholeRounds) {
  // Rounds of two seconds, in which both push.
  std::vector<MeasuredWorker> workers = {
      Worker("w0", std::vector<double>(30, 2)),
      Worker("w1", std::vector<double>(30, 2))};
  for (MeasuredIteration& it : workers[1].iterations) it.at -= 0.5;
  const auto speed = MeasuredSpeed(workers, 0);
  ASSERT_TRUE(speed.has_value());
  EXPECT_NEAR(*speed, kBatch, 1e-9);
  // What nothing was learned from does not count.
  for (MeasuredIteration& it : workers[1].iterations) it.discarded = true;
  EXPECT_NEAR(*MeasuredSpeed(workers, 0), kBatch / 2.0, 1e-9);
  EXPECT_FALSE(MeasuredSpeed(workers, 50).has_value()) << "too short";
}

}  // namespace
}  // namespace paceline
