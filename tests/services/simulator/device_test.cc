#include "services/simulator/device.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"

namespace paceline {
namespace {

constexpr Nanos kSecond = 1'000'000'000;
constexpr uint32_t kBatch = 32;

std::vector<double> Draw(const DeviceSpec& spec, int n, uint64_t seed = 1) {
  Device device(&spec, kBatch, seed);
  std::vector<double> seconds;
  for (int i = 0; i < n; ++i) {
    seconds.push_back(ToSeconds(device.Next(kBatch).work));
  }
  return seconds;
}

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / values.size();
}

double Deviation(const std::vector<double>& values) {
  const double mean = Mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / values.size());
}

TEST(DeviceTest, ConstantTimesGoBySamples) {
  const DeviceSpec spec{.iteration = 1'010'000'000};
  Device device(&spec, kBatch, 1);
  EXPECT_EQ(device.Next(32).work, 1'010'000'000);
  EXPECT_EQ(device.Next(16).work, 505'000'000);
  EXPECT_EQ(device.Next(128).work, 4'040'000'000);
  EXPECT_EQ(Share(1, 1, 1000), 1);  // Something always takes time.
}

TEST(DeviceTest, EveryDistributionKeepsTheMean) {
  constexpr int kDraws = 200'000;
  DeviceSpec spec{.iteration = kSecond};
  spec.jitter.kind = Jitter::Kind::kNormal;
  spec.jitter.spread = 0.1;
  EXPECT_NEAR(Mean(Draw(spec, kDraws)), 1, 0.001);
  EXPECT_NEAR(Deviation(Draw(spec, kDraws)), 0.1, 0.001);
  spec.jitter.kind = Jitter::Kind::kExponential;
  EXPECT_NEAR(Mean(Draw(spec, kDraws)), 1, 0.01);
  EXPECT_NEAR(Deviation(Draw(spec, kDraws)), 1, 0.02);
  spec.jitter.kind = Jitter::Kind::kLognormal;
  spec.jitter.spread = 0.5;
  std::vector<double> draws = Draw(spec, kDraws);
  EXPECT_NEAR(Mean(draws), 1, 0.01);
  for (double& draw : draws) draw = std::log(draw);
  EXPECT_NEAR(Deviation(draws), 0.5, 0.005);
}

TEST(DeviceTest, FullBatchesScatterAfterAPartAsBefore) {
  DeviceSpec spec{.iteration = kSecond};
  spec.jitter.kind = Jitter::Kind::kExponential;
  Device device(&spec, kBatch, 1);
  device.Next(kBatch / 2);
  std::vector<double> seconds;
  for (int i = 0; i < 100'000; ++i) {
    seconds.push_back(ToSeconds(device.Next(kBatch).work));
  }
  EXPECT_NEAR(Mean(seconds), 1, 0.01);
  EXPECT_NEAR(Deviation(seconds), 1, 0.02);
}

TEST(DeviceTest, NothingIsFasterThanAHundredthOfTheMean) {
  DeviceSpec spec{.iteration = kSecond};
  spec.jitter.kind = Jitter::Kind::kNormal;
  spec.jitter.spread = 1;
  const std::vector<double> draws = Draw(spec, 10'000);
  EXPECT_EQ(*std::min_element(draws.begin(), draws.end()), 0.01);
}

TEST(DeviceTest, OneSeedGivesOneSequence) {
  DeviceSpec spec{.iteration = kSecond};
  spec.jitter.kind = Jitter::Kind::kExponential;
  EXPECT_EQ(Draw(spec, 100, 7), Draw(spec, 100, 7));
  EXPECT_NE(Draw(spec, 100, 7), Draw(spec, 100, 8));
}

TEST(DeviceTest, BurstsStretchWhatFallsIntoThem) {
  DeviceSpec spec{.iteration = kSecond};
  spec.jitter.bursts = Bursts{.every = 10 * kSecond,
                              .length = 2 * kSecond,
                              .factor = 4,
                              .first = 5 * kSecond};
  spec.micro_batch = kSecond / 2;
  const Device device(&spec, kBatch, 1);
  EXPECT_EQ(device.Finish(0, kSecond, 0), kSecond);
  EXPECT_EQ(device.Finish(0, kSecond, 4), 3 * kSecond);
  EXPECT_EQ(device.Finish(4 * kSecond, kSecond, 0), 5 * kSecond);
  EXPECT_EQ(device.Finish(4 * kSecond, kSecond, 1), 7 * kSecond);
  // Half a second of work before, two seconds at a quarter, none left.
  EXPECT_EQ(device.Finish(4'500'000'000, kSecond, 0), 7 * kSecond);
  EXPECT_EQ(device.Finish(6 * kSecond, kSecond, 0), 7'750'000'000);
  // Through the burst, the pause and the next burst.
  EXPECT_EQ(device.Finish(5 * kSecond, 9'500'000'000, 0), 17'500'000'000);
}

TEST(DeviceTest, ReplaysARecordingOverAndOver) {
  DeviceSpec spec;
  spec.recorded = std::make_shared<const std::vector<RecordedIteration>>(
      std::vector<RecordedIteration>{
          {.compute = 3 * kSecond, .samples = 32, .push = 5, .pull = 6},
          {.compute = kSecond, .samples = 16}});
  spec.offset = 1;
  Device device(&spec, kBatch, 1);
  // A half of it is of the next one.
  EXPECT_EQ(device.Next(32).work, 2'500'000'000);
  const Device::Iteration second = device.Next(16);
  EXPECT_EQ(second.work, 1'500'000'000);
  EXPECT_EQ(second.push, 5);
  EXPECT_EQ(second.pull, 6);
  EXPECT_EQ(device.Next(16).work, kSecond);
  EXPECT_FALSE(device.Next(32).push == std::nullopt);
}

}  // namespace
}  // namespace paceline
