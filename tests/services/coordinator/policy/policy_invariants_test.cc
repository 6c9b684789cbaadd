// What always holds, whatever the speeds, losses and messages, over thousands
// of seeds.

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/coordinator/policy/policy_spec.h"
#include "tests/services/coordinator/policy/faulty_cluster.h"

namespace paceline {
namespace {

using ::testing::IsEmpty;

struct Case {
  std::string spec;
  InvariantChecker::Options invariants;
};

FaultyCluster RunCase(const Case& c, SyncPolicy& policy, uint64_t seed) {
  FaultyCluster cluster(policy, seed, c.invariants);
  cluster.Run();
  return cluster;
}

std::string TraceOf(const Case& c, uint64_t seed) {
  const auto policy = MakePolicy(c.spec);
  EXPECT_TRUE(policy.ok()) << policy.status();
  return RunCase(c, **policy, seed).trace();
}

class PolicyInvariantsTest : public testing::TestWithParam<Case> {};

TEST_P(PolicyInvariantsTest, HoldForEverySeed) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const auto policy = MakePolicy(GetParam().spec);
    ASSERT_TRUE(policy.ok()) << policy.status();
    const FaultyCluster cluster = RunCase(GetParam(), **policy, seed);
    ASSERT_THAT(cluster.violations(), IsEmpty())
        << GetParam().spec << " with seed " << seed;
  }
}

// Catches a clock, a hash order or a pointer order that crept in.
TEST_P(PolicyInvariantsTest, OneSeedGivesOneHistory) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(TraceOf(GetParam(), seed), TraceOf(GetParam(), seed));
  }
  EXPECT_NE(TraceOf(GetParam(), 7), TraceOf(GetParam(), 8));
}

INSTANTIATE_TEST_SUITE_P(
    Paradigms, PolicyInvariantsTest,
    testing::Values(
        Case{"bsp", {.max_gap = 1, .counts_from_release = true}},
        Case{"asp", {}}, Case{"ssp:s=0", {.max_gap = 1}},
        Case{"ssp:s=1", {.max_gap = 2}}, Case{"ssp:s=3", {.max_gap = 4}},
        Case{"dssp:lower=1,upper=5,mode=paper", {}},
        Case{"dssp:lower=2,upper=9,mode=exact,interval=busy", {}},
        Case{"dssp:lower=0,upper=0,mode=bounded", {.max_gap = 1}},
        Case{"dssp:lower=1,upper=5,mode=bounded", {.max_gap = 6}},
        Case{"dssp:lower=1,upper=7,mode=bounded,interval=busy,rule=causal",
             {.max_gap = 8}},
        Case{"dssp:lower=0,upper=3,mode=bounded,fastest=within:2",
             {.max_gap = 4}},
        Case{"dssp:lower=1,upper=6,mode=paper,rule=causal,fastest=within:100",
             {}}));

// The watch itself: a policy that lets everybody go on breaks the bound, and
// one that says nothing leaves all waiting.
TEST(InvariantCheckerTest, SeesAGapThatIsTooLarge) {
  const Case unbounded{"asp", {.max_gap = 4}};
  const auto policy = MakePolicy(unbounded.spec);
  EXPECT_FALSE(RunCase(unbounded, **policy, 1).violations().empty());
}

TEST(InvariantCheckerTest, SeesADeadlockAndADoubleRelease) {
  InvariantChecker checker({});
  checker.Adopted({{WorkerId{0}}});
  checker.Settled();
  EXPECT_THAT(checker.violations(), testing::ElementsAre("all wait: w0"));
  checker.Performed(Release{WorkerId{0}, PushPlan::Immediate()});
  checker.Performed(Release{WorkerId{0}, PushPlan::Immediate()});
  EXPECT_THAT(checker.violations(),
              testing::Contains("release of one who does not wait: w0"));
}

TEST(InvariantCheckerTest, SeesAPushLeftInARound) {
  InvariantChecker checker({});
  checker.Adopted({{WorkerId{0}}});
  checker.Performed(Release{WorkerId{0}, PushPlan::Round(RoundId{1})});
  checker.Happened(PushDone{WorkerId{0}});
  checker.Happened(Left{WorkerId{0}});
  checker.Settled();
  EXPECT_THAT(checker.violations(),
              testing::Contains("pushes left in a round: w0"));
}

}  // namespace
}  // namespace paceline
