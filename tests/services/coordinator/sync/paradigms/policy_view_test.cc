// What policies show of themselves. That it follows what they decide is seen in
// job_run_metrics_test.

#include <cstdint>
#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "tests/services/coordinator/sync/paradigms/policy_of_text.h"

namespace paceline {
namespace {

struct Shown {
  const char* spec;
  std::optional<int64_t> threshold;
};

class PolicyViewTest : public testing::TestWithParam<Shown> {};

TEST_P(PolicyViewTest, ThresholdAtTheBeginning) {
  const auto policy = MakePolicy(GetParam().spec);
  ASSERT_TRUE(policy.ok()) << policy.status();
  EXPECT_EQ((*policy)->View().threshold, GetParam().threshold);
}

INSTANTIATE_TEST_SUITE_P(
    Policies, PolicyViewTest,
    testing::Values(Shown{"bsp", 0}, Shown{"asp", std::nullopt},
                    Shown{"ssp:s=4", 4}, Shown{"dssp:lower=2,upper=9", 2},
                    Shown{"ssp:s=4,staleness_weight=inverse", 4},
                    Shown{"syncswitch:first=ssp:s=5", 5},
                    Shown{"cgp", std::nullopt},
                    Shown{"saps:mode=refresh", std::nullopt}),
    [](const auto& shown) {
      const std::string spec = shown.param.spec;
      return spec.substr(0, spec.find_first_of(":,")) +
             std::to_string(shown.index);
    });

}  // namespace
}  // namespace paceline
