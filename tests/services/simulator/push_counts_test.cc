// algorithms.md 2.7: pushes and largest gaps of workers at constant speeds
// after 600 seconds, through the whole core.

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/services/simulator/cluster_testing.h"

namespace paceline {
namespace {

using testing::ElementsAre;

constexpr char kPaper[] = "dssp:lower=3,upper=15,mode=printed";
constexpr char kBounded[] =
    "dssp:lower=3,upper=15,mode=bounded,release=gap,fastest=max";

struct Row {
  std::vector<double> seconds;
  std::string paradigm;
  std::vector<int64_t> pushes;
  std::optional<int64_t> max_gap;
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << row.paradigm << testing::PrintToString(row.seconds);
}

class PushCountsTest : public testing::TestWithParam<Row> {};

TEST_P(PushCountsTest, EqualsTheTable) {
  const ClusterSpec spec = TimedSpec(GetParam().seconds, 600);
  const SimulationResult result = Simulate(spec, GetParam().paradigm);
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(PushesOf(result), GetParam().pushes);
  if (GetParam().max_gap.has_value()) {
    EXPECT_EQ(result.gap.Max(), *GetParam().max_gap);
  }
}

const std::vector<double> kTwice = {1, 2};
const std::vector<double> kNearlyTwice = {1, 1.9};
const std::vector<double> kClose = {1, 1.1};
const std::vector<double> kOneSlow = {1, 1, 1, 2.5};
const std::vector<double> kFourSpeeds = {1, 1.3, 1.7, 2.9};
const std::vector<double> kAlmostEqual = {1, 1.01, 1.02, 1.03};

INSTANTIATE_TEST_SUITE_P(
    Table27, PushCountsTest,
    testing::Values(
        Row{kTwice, "bsp", {300, 300}, 1},
        Row{kTwice, "ssp:s=3", {303, 300}, 4},
        Row{kTwice, "ssp:s=15", {315, 300}, 16},
        Row{kTwice, kPaper, {600, 300}, 301},
        Row{kTwice, kBounded, {304, 300}, 5},
        Row{kTwice, "asp", {600, 300}, {}},
        Row{kNearlyTwice, "bsp", {316, 315}, 1},
        Row{kNearlyTwice, "ssp:s=3", {319, 315}, 4},
        Row{kNearlyTwice, "ssp:s=15", {331, 315}, 16},
        Row{kNearlyTwice, kPaper, {600, 315}, 285},
        // The table has 322 and a gap of 16: at 19 s both push, and in double
        // precision w1 does so a little earlier (docs/decisions.md).
        Row{kNearlyTwice, kBounded, {323, 315}, 13},
        Row{kNearlyTwice, "asp", {600, 315}, {}},
        Row{kClose, "bsp", {545, 545}, 1},
        Row{kClose, "ssp:s=3", {548, 545}, 4},
        Row{kClose, "ssp:s=15", {560, 545}, 16},
        Row{kClose, kPaper, {600, 545}, 55},
        Row{kClose, kBounded, {548, 545}, 5},
        Row{kClose, "asp", {600, 545}, {}},
        Row{kOneSlow, "bsp", {240, 240, 240, 240}, 1},
        Row{kOneSlow, "ssp:s=3", {243, 243, 243, 240}, 4},
        Row{kOneSlow, "ssp:s=15", {255, 255, 255, 240}, 16},
        Row{kOneSlow, kPaper, {600, 600, 600, 240}, 361},
        Row{kOneSlow, kBounded, {245, 245, 245, 240}, 7},
        Row{kOneSlow, "asp", {600, 600, 600, 240}, {}},
        Row{kFourSpeeds, "bsp", {207, 207, 207, 206}, 1},
        Row{kFourSpeeds, "ssp:s=3", {210, 210, 210, 206}, 4},
        Row{kFourSpeeds, "ssp:s=15", {222, 222, 222, 206}, 16},
        Row{kFourSpeeds, kPaper, {599, 210, 210, 206}, 393},
        // The table has 210, 217, 210, 206, for the same reason.
        Row{kFourSpeeds, kBounded, {214, 211, 210, 206}, 16},
        Row{kFourSpeeds, "asp", {600, 461, 352, 206}, {}},
        Row{kAlmostEqual, "bsp", {582, 582, 582, 582}, 1},
        Row{kAlmostEqual, "ssp:s=3", {585, 585, 585, 582}, 4},
        Row{kAlmostEqual, "ssp:s=15", {597, 594, 588, 582}, {}},
        Row{kAlmostEqual, kPaper, {585, 585, 585, 582}, 4},
        Row{kAlmostEqual, kBounded, {585, 585, 585, 582}, 4},
        Row{kAlmostEqual, "asp", {600, 594, 588, 582}, {}}));

std::vector<double> WaitedOf(const SimulationResult& result) {
  std::vector<double> waited;
  for (const WorkerResult& worker : result.workers) {
    waited.push_back(ToSeconds(worker.wait));
  }
  return waited;
}

// Of the traces of 2.9, 5.1 and 5.3.
TEST(WaitingTest, EqualsTheTraces) {
  EXPECT_THAT(WaitedOf(Simulate(TimedSpec({2, 5}, 20), "ssp:s=1")),
              ElementsAre(10, 0));
  EXPECT_THAT(WaitedOf(Simulate(TimedSpec({1, 1.5, 2.2}, 4.4), "bsp")),
              ElementsAre(2.4, 1.4, 0));
  const SimulationResult ssp =
      Simulate(TimedSpec({1, 1.5, 2.2}, 6.6), "ssp:s=1");
  EXPECT_THAT(WaitedOf(ssp), ElementsAre(2.6, 0.6, 0));
  EXPECT_DOUBLE_EQ(ssp.WaitingShare(), 3.2 / 19.8);
}

}  // namespace
}  // namespace paceline
