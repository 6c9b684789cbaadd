// What always holds of a run, whatever dies and whoever gives orders, over
// thousands of seeds. PACELINE_SEEDS=100000 tries so many of each kind of day,
// and PACELINE_FIRST_SEED=7 begins with that one.

#include <cstdlib>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/services/coordinator/run/course/virtual_run.h"

namespace paceline {
namespace {

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* const wanted = std::getenv(name);
  uint64_t number = otherwise;
  if (wanted != nullptr) {
    EXPECT_TRUE(absl::SimpleAtoi(wanted, &number)) << name;
  }
  return number;
}

struct Day {
  const char* name;
  Faults faults;
};

class CourseRandomTest : public ::testing::TestWithParam<Day> {};

TEST_P(CourseRandomTest, KeepsWhatAlwaysHolds) {
  int finished = 0;
  const uint64_t first = FromEnvironment("PACELINE_FIRST_SEED", 1);
  const uint64_t seeds = FromEnvironment("PACELINE_SEEDS", 300);
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    const std::string paradigm =
        VirtualRun::Paradigms()[seed % VirtualRun::Paradigms().size()];
    VirtualRun run(seed, paradigm, GetParam().faults);
    ASSERT_EQ(run.Run(), "") << "seed " << seed << " under " << paradigm;
    finished += run.outcome().status.ok() && !run.outcome().paused ? 1 : 0;
  }
  EXPECT_TRUE(finished > 0 || seeds < 100)
      << "no run has come to its end: this proves little";
}

INSTANTIATE_TEST_SUITE_P(
    Days, CourseRandomTest,
    ::testing::Values(
        Day{"Quiet", {}},
        Day{"MembersDie",
            {.member_dies = 20,
             .member_freezes = 5,
             .member_leaves = 5,
             .member_cannot = 100}},
        Day{"Orders", {.member_dies = 5, .order = 300, .cancel = 5}},
        Day{"Disks",
            {.snapshot_refused = 200, .checkpoint_fails = 300, .order = 300}},
        Day{"Servers",
            {.member_dies = 5, .server_lost = 20, .server_hangs = 1}},
        Day{"Everything",
            {.member_dies = 10,
             .member_freezes = 3,
             .member_leaves = 3,
             .member_cannot = 50,
             .server_lost = 3,
             .server_hangs = 1,
             .snapshot_refused = 100,
             .checkpoint_fails = 100,
             .order = 200,
             .cancel = 5}}),
    [](const auto& day) { return std::string(day.param.name); });

}  // namespace
}  // namespace paceline
