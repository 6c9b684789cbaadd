// What always holds of every paradigm, whatever happens to its workers, over
// thousands of seeds. A new paradigm needs a line here.

#include <cstdint>
#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/seed_count.h"
#include "tests/services/coordinator/sync/paradigms/policy_driver.h"
#include "tests/services/coordinator/sync/paradigms/policy_of_text.h"

namespace paceline {
namespace {

using ::testing::IsEmpty;

struct Case {
  std::string spec;
  std::optional<int64_t> max_gap = std::nullopt;
  bool counts_from_release = false;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.spec; }

PolicyDriver RunSeed(const Case& c, uint64_t seed) {
  const auto policy = MakePolicy(c.spec);
  EXPECT_TRUE(policy.ok()) << policy.status();
  PolicyDriver driver(**policy, {.seed = seed,
                                 .faults = true,
                                 .max_gap = c.max_gap,
                                 .counts_from_release = c.counts_from_release});
  driver.RunThroughFaults();
  return driver;
}

class ParadigmScenariosTest : public testing::TestWithParam<Case> {};

TEST_P(ParadigmScenariosTest, NobodyIsForgottenAndNoRoundIsLeftOpen) {
  for (uint64_t seed = 0; seed < SeedCount(1'000); ++seed) {
    ASSERT_THAT(RunSeed(GetParam(), seed).violations(), IsEmpty())
        << GetParam().spec << " with seed " << seed;
  }
}

// Catches a clock, a hash order or a pointer order that crept in.
TEST_P(ParadigmScenariosTest, OneSeedGivesOneHistory) {
  for (uint64_t seed = 0; seed < SeedCount(50); ++seed) {
    EXPECT_EQ(RunSeed(GetParam(), seed).trace(),
              RunSeed(GetParam(), seed).trace());
  }
  EXPECT_NE(RunSeed(GetParam(), 7).trace(), RunSeed(GetParam(), 8).trace());
}

INSTANTIATE_TEST_SUITE_P(
    Paradigms, ParadigmScenariosTest,
    testing::Values(
        Case{"bsp", 1, /*counts_from_release=*/true},
        Case{"bsp:steal=true,pieces=16"}, Case{"bsp:steal=true,pieces=1"},
        Case{"bsp:steal=true,fill=true"}, Case{"bsp:steal=true,redo=false"},
        Case{"bsp:steal=true,pieces=1,fill=true"}, Case{"asp"},
        Case{"ssp:s=0", 1}, Case{"ssp:s=1", 2}, Case{"ssp:s=3", 4},
        Case{"ssp:s=2,staleness_weight=inverse,staleness_cap=1", 3},
        Case{"dssp:lower=1,upper=5,mode=printed"}, Case{"dssp:lower=1,upper=5"},
        Case{"dssp:lower=2,upper=9,mode=exact,interval=busy"},
        Case{"dssp:lower=0,upper=0,mode=bounded", 1},
        Case{"dssp:lower=1,upper=5,mode=bounded", 6},
        Case{"dssp:lower=1,upper=7,mode=bounded,interval=busy,rule=causal", 8},
        Case{"dssp:lower=0,upper=3,mode=bounded,fastest=within:2", 4},
        Case{"dssp:lower=1,upper=5,mode=bounded,release=gap,fastest=max", 6},
        Case{
            "dssp:lower=1,upper=6,mode=printed,rule=causal,fastest=within:100"},
        Case{"saps"}, Case{"saps:mode=damp"},
        Case{"saps:mode=drop,starve_limit=3"}, Case{"saps:sync_every=1"},
        Case{"saps:s=1,sync_every=5"}, Case{"saps:mode=damp,sync_every=20"},
        Case{"saps:mode=drop,s=1,sync_every=3"}, Case{"ksync:k=1"},
        Case{"ksync:k=2"}, Case{"ksync:k=100"}, Case{"kbatchsync:k=1"},
        Case{"kbatchsync:k=3"}, Case{"backup:b=0"}, Case{"backup:b=1"},
        Case{"backup:b=7"}, Case{"kasync:k=1"}, Case{"kasync:k=2"},
        Case{"kasync:k=100"}, Case{"kbatchasync:k=1"}, Case{"kbatchasync:k=2"},
        Case{"kbatchasync:k=20"}, Case{"ksync:k=auto,k0=1"},
        Case{"kbatchsync:k=auto"}, Case{"kasync:k=auto,k0=1,loss0=4"},
        Case{"kbatchasync:k=auto,k0=3"},
        Case{"syncswitch:first=ksync:k=auto,then=asp,at=0.5"},
        Case{"kasync:k=2,staleness_weight=inverse,staleness_cap=1"},
        Case{"kbatchasync:k=3,staleness_weight=exponential"},
        Case{"kasync:k=3,staleness_weight=delay_compensated"},
        Case{"asp:staleness_weight=delay_compensated,mean_square=0.95"},
        Case{"psp:beta=0,s=0"}, Case{"psp:beta=1,s=0"}, Case{"psp:beta=2,s=1"},
        Case{"psp:beta=1000,s=2"},
        Case{"psp:beta=2,s=0,staleness_weight=inverse"}, Case{"elastic:r=1"},
        Case{"elastic:r=15"}, Case{"elastic:r=4,staleness_cap=2"},
        Case{"abs:pieces=1"}, Case{"abs:pieces=8"}, Case{"cgp"},
        Case{"cgp:warmup_rounds=1,delta=0,patience=inf"},
        Case{"cgp:warmup_rounds=1,regroup_every=3,predictive=false"},
        Case{"cgp:warmup_rounds=1,beta=0.5,drift=0,patience=1"},
        Case{"cgp:warmup_rounds=2,beta=1,stale_weight=inverse"},
        Case{"cgp:warmup_rounds=1,s_max=2,stale_weight=inverse"},
        Case{"cgp:warmup_rounds=1,s_max=0"},
        Case{"syncswitch:at=0.5,straggler=leave"}, Case{"syncswitch:at=0.2"},
        Case{"syncswitch:at=0.8,straggler=drop"},
        Case{"syncswitch:first=ksync:k=2,then=kbatchasync:k=3,at=0.4"},
        Case{"syncswitch:first=abs:pieces=4,then=backup:b=1,at=0.4"},
        Case{"syncswitch:first=psp:s=0,then=elastic:r=4,at=0.4"},
        Case{"syncswitch:first=kasync:k=2,then=ssp:s=1,at=0.4"},
        Case{"syncswitch:first=cgp:warmup_rounds=1,then=bsp,at=0.4"},
        Case{"syncswitch:first=ksync,then=cgp:warmup_rounds=1,at=0.3"}));

// The watch itself: a policy that lets everybody go on breaks the bound.
TEST(PolicyDriverTest, SeesAGapThatIsTooLarge) {
  EXPECT_FALSE(RunSeed({"asp", 4}, 1).violations().empty());
}

// Does what a test says once, and nothing more.
class OncePolicy final : public SyncPolicy {
 public:
  explicit OncePolicy(std::vector<Action> actions)
      : actions_(std::move(actions)) {}
  void Adopt(const SyncView&, std::vector<Action>& actions) override {
    actions = actions_;
  }
  void Apply(const SyncView&, const Event&, std::vector<Action>&) override {}
  std::string Describe() const override { return "once"; }

 private:
  const std::vector<Action> actions_;
};

std::vector<std::string> ViolationsOf(std::vector<Action> actions) {
  OncePolicy policy(std::move(actions));
  PolicyDriver driver(policy, {.times = {1, 1}});
  driver.RunUntil(2);
  return driver.violations();
}

constexpr WorkerId kA{0};
constexpr WorkerId kB{1};
constexpr RoundId kRound{1};

TEST(PolicyDriverTest, SeesADeadlock) {
  EXPECT_THAT(ViolationsOf({}), testing::Contains(testing::HasSubstr(
                                    "nobody computes, and somebody waits")));
}

TEST(PolicyDriverTest, SeesADoubleReleaseAndAClosingOfNothing) {
  const Release release{kA, PushPlan::Immediate()};
  EXPECT_THAT(
      ViolationsOf({release, release}),
      testing::Contains(testing::HasSubstr("release of w0 who does not wait")));
  EXPECT_THAT(ViolationsOf({release, CloseRounds{{kRound}}}),
              testing::Contains(testing::HasSubstr("gathered nothing")));
}

TEST(PolicyDriverTest, SeesAPushLeftInARound) {
  EXPECT_THAT(
      ViolationsOf({Release{kA, PushPlan::Round(kRound)},
                    Release{kB, PushPlan::Immediate()}}),
      testing::Contains(testing::HasSubstr("pushes are left in a round")));
}

TEST(PolicyDriverTest, SeesAReportOnAStranger) {
  EXPECT_THAT(ViolationsOf({Report{{DecisionKind::kWithinBound, WorkerId{9}}}}),
              testing::Contains(testing::HasSubstr("a report on a stranger")));
}

}  // namespace
}  // namespace paceline
