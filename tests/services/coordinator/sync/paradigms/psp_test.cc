// PSP between its ends: a sample of nobody is ASP, of all others SSP.

#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/services/coordinator/sync/paradigms/policy_driver.h"
#include "tests/services/coordinator/sync/paradigms/policy_of_text.h"

namespace paceline {
namespace {

// The releases while workers are lost, now and then. All decisions are left
// out: the sentences differ. Who joins makes a difference to SSP, but not to
// those who have drawn their samples.
std::string ReleasesOf(const std::string& spec, uint64_t seed) {
  const auto policy = *MakePolicy(spec);
  // The higher the number, the slower.
  PolicyDriver driver(*policy, {.seed = seed,
                                .unit = absl::Milliseconds(1),
                                .times = {10, 13, 18, 29, 41, 67},
                                .losses = true,
                                .fault_every = 300});
  driver.RunUntil(1000);
  EXPECT_THAT(driver.violations(), testing::IsEmpty());
  std::string releases;
  for (const absl::string_view line : absl::StrSplit(driver.trace(), '\n')) {
    if (absl::StrContains(line, " release ")) {
      absl::StrAppend(&releases, line, "\n");
    }
  }
  return releases;
}

TEST(PspTest, ASampleOfNobodyIsAsp) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    ASSERT_EQ(ReleasesOf("psp:beta=0,s=0", seed), ReleasesOf("asp", seed));
  }
}

TEST(PspTest, ASampleOfAllOthersIsSsp) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    for (int s = 0; s < 4; ++s) {
      ASSERT_EQ(ReleasesOf(absl::StrCat("psp:beta=1000,s=", s), seed),
                ReleasesOf(absl::StrCat("ssp:s=", s), seed))
          << seed;
    }
  }
}

TEST(PspTest, TheSeedDecides) {
  const auto releases = [](int seed) {
    return ReleasesOf(absl::StrCat("psp:beta=1,s=0,seed=", seed), 5);
  };
  EXPECT_EQ(releases(1), releases(1));
  EXPECT_NE(releases(1), releases(2));
}

}  // namespace
}  // namespace paceline
