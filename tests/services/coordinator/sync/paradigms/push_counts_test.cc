// Pushes, gaps and waiting of the four paradigms at constant speeds, as
// algorithms.md 2.7, 2.9, 5.1 and 5.3 give them.

#include <cmath>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/common/test_paths.h"
#include "tests/services/coordinator/sync/paradigms/policy_driver.h"
#include "tests/services/coordinator/sync/paradigms/policy_of_text.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const char kPaper[] = "dssp:lower=3,upper=15,mode=printed";
const char kBounded[] =
    "dssp:lower=3,upper=15,mode=bounded,release=gap,fastest=max";

struct SteadyRun {
  std::vector<int64_t> pushes;
  std::vector<absl::Duration> waited;  // From push to release.
  int64_t max_gap = 0;                 // At any push.
};

// Workers that take exactly so long for each iteration, with no other cost,
// from 0 to `horizon` inclusive; all times count in `unit`.
SteadyRun RunSteady(const std::string& spec, const std::vector<double>& times,
                    double horizon, absl::Duration unit) {
  const auto policy = MakePolicy(spec);
  EXPECT_TRUE(policy.ok()) << policy.status();
  PolicyDriver driver(**policy, {.unit = unit, .times = times});
  driver.RunUntil(horizon);
  EXPECT_THAT(driver.violations(), IsEmpty());
  return {driver.Pushes(), driver.Waited(), driver.max_gap()};
}

// In seconds of double precision, as the published tables were computed: what
// is one instant there is left to rounding.
SteadyRun RunRounded(const std::string& spec,
                     const std::vector<double>& seconds, double horizon) {
  return RunSteady(spec, seconds, horizon, absl::Seconds(1));
}

// In whole nanoseconds: pushes at one instant come by worker id.
SteadyRun RunExact(const std::string& spec, std::vector<double> seconds,
                   double horizon) {
  for (double& time : seconds) time = std::round(time * 1e9);
  return RunSteady(spec, seconds, std::round(horizon * 1e9),
                   absl::Nanoseconds(1));
}

TEST(PushCountsTest, EqualTheVectors) {
  std::ifstream file(TestDataPath("paradigms.json"));
  const auto table = nlohmann::json::parse(file).at("push_counts_600s");
  const int lower = table["s_L"];
  const int r_max = table["r_max"];
  const std::string range =
      absl::StrCat("lower=", lower, ",upper=", lower + r_max);
  const std::vector<std::pair<std::string, std::string>> columns = {
      {"bsp", "bsp"},
      {"asp", "asp"},
      {"ssp3", "ssp:s=3"},
      {"ssp15", "ssp:s=15"},
      {"dssp_paper", "dssp:mode=printed," + range},
      {"dssp_bounded", "dssp:mode=bounded,release=gap,fastest=max," + range}};
  ASSERT_EQ(table["cases"].size(), 3u);
  for (const auto& row : table["cases"]) {
    for (const auto& [column, spec] : columns) {
      SCOPED_TRACE(absl::StrCat(spec, " ", row["tau"].dump()));
      EXPECT_EQ(RunRounded(spec, row["tau"], 600).pushes,
                row[column].get<std::vector<int64_t>>());
    }
  }
}

struct Result {
  std::vector<int64_t> pushes;
  std::optional<int64_t> max_gap = std::nullopt;
};

struct Row {
  std::vector<double> seconds;
  std::string spec;
  Result published;
  // Where pushes that coincide decide, and the published run took them in
  // another order than by worker id.
  std::optional<Result> exact = std::nullopt;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.spec; }

class PushCountsTableTest : public testing::TestWithParam<Row> {
 protected:
  static void ExpectEqual(const SteadyRun& run, const Result& want) {
    EXPECT_EQ(run.pushes, want.pushes);
    if (want.max_gap.has_value()) {
      EXPECT_EQ(run.max_gap, *want.max_gap);
    }
  }
};

TEST_P(PushCountsTableTest, EqualsThePublishedRow) {
  ExpectEqual(RunRounded(GetParam().spec, GetParam().seconds, 600),
              GetParam().published);
}

TEST_P(PushCountsTableTest, HoldsInExactTime) {
  ExpectEqual(RunExact(GetParam().spec, GetParam().seconds, 600),
              GetParam().exact.value_or(GetParam().published));
}

INSTANTIATE_TEST_SUITE_P(
    Table27, PushCountsTableTest,
    testing::Values(
        Row{{1, 2}, "bsp", {{300, 300}, 1}},
        Row{{1, 2}, "ssp:s=3", {{303, 300}, 4}},
        Row{{1, 2}, "ssp:s=15", {{315, 300}, 16}},
        Row{{1, 2}, kPaper, {{600, 300}, 301}},
        Row{{1, 2}, kBounded, {{304, 300}, 5}},
        Row{{1, 2}, "asp", {{600, 300}}}, Row{{1, 1.9}, "bsp", {{316, 315}, 1}},
        Row{{1, 1.9}, "ssp:s=3", {{319, 315}, 4}},
        Row{{1, 1.9}, "ssp:s=15", {{331, 315}, 16}},
        Row{{1, 1.9}, kPaper, {{600, 315}, 285}},
        // At 19 s both push; in double precision w1 does so a little earlier.
        Row{{1, 1.9}, kBounded, {{322, 315}, 16}, Result{{323, 315}, 13}},
        Row{{1, 1.9}, "asp", {{600, 315}}},
        Row{{1, 1.1}, "bsp", {{545, 545}, 1}},
        Row{{1, 1.1}, "ssp:s=3", {{548, 545}, 4}},
        Row{{1, 1.1}, "ssp:s=15", {{560, 545}, 16}},
        Row{{1, 1.1}, kPaper, {{600, 545}, 55}},
        Row{{1, 1.1}, kBounded, {{548, 545}, 5}},
        Row{{1, 1.1}, "asp", {{600, 545}}},
        Row{{1, 1, 1, 2.5}, kPaper, {{600, 600, 600, 240}, 361}},
        Row{{1, 1, 1, 2.5}, kBounded, {{245, 245, 245, 240}, 7}},
        Row{{1, 1.3, 1.7, 2.9}, kPaper, {{599, 210, 210, 206}, 393}},
        Row{{1, 1.3, 1.7, 2.9},
            kBounded,
            {{210, 217, 210, 206}, 16},
            Result{{214, 211, 210, 206}, 16}},
        Row{{1, 1.01, 1.02, 1.03}, "bsp", {{582, 582, 582, 582}, 1}},
        Row{{1, 1.01, 1.02, 1.03}, "ssp:s=3", {{585, 585, 585, 582}, 4}},
        Row{{1, 1.01, 1.02, 1.03}, "ssp:s=15", {{597, 594, 588, 582}}},
        Row{{1, 1.01, 1.02, 1.03}, kPaper, {{585, 585, 585, 582}, 4}},
        Row{{1, 1.01, 1.02, 1.03}, kBounded, {{585, 585, 585, 582}, 4}},
        Row{{1, 1.01, 1.02, 1.03}, "asp", {{600, 594, 588, 582}}}));

// A huge bound is none, and a range of nothing is SSP.
TEST(PushCountsTest, TheParadigmsMeetAtTheirEnds) {
  const auto pushes = [](const std::string& spec) {
    return RunExact(spec, {1, 1.3, 1.7, 2.9}, 600).pushes;
  };
  EXPECT_EQ(pushes("ssp:s=1000000000"), pushes("asp"));
  EXPECT_EQ(pushes("ssp:s=0"), pushes("bsp"));
  for (const std::string mode : {"paper", "exact", "bounded"}) {
    EXPECT_EQ(pushes("dssp:lower=3,upper=3,release=gap,mode=" + mode),
              pushes("ssp:s=3"));
  }
}

// The middle workers are freed too when they need not be the very fastest.
TEST(PushCountsTest, WithinLetsMoreThanTheFastestGo) {
  const std::vector<double> seconds = {1, 1.3, 1.7, 2.9};
  const SteadyRun max = RunExact(kPaper, seconds, 600);
  const SteadyRun within =
      RunExact(absl::StrCat(kPaper, ",fastest=within:1000"), seconds, 600);
  EXPECT_GT(within.pushes[1], 2 * max.pushes[1]);
  EXPECT_EQ(within.pushes[3], max.pushes[3]);
}

TEST(PushCountsTest, WaitingOfTheTraces) {
  EXPECT_THAT(RunExact("ssp:s=1", {2, 5}, 20).waited,
              ElementsAre(absl::Seconds(10), absl::ZeroDuration()));
  EXPECT_THAT(RunExact("bsp", {1, 1.5, 2.2}, 4.4).waited,
              ElementsAre(absl::Milliseconds(2400), absl::Milliseconds(1400),
                          absl::ZeroDuration()));
  EXPECT_THAT(RunExact("ssp:s=1", {1, 1.5, 2.2}, 6.6).waited,
              ElementsAre(absl::Milliseconds(2600), absl::Milliseconds(600),
                          absl::ZeroDuration()));
}

}  // namespace
}  // namespace paceline
