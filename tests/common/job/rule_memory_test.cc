#include "common/job/rule_memory.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

struct Case {
  const char* paradigm;
  int64_t workers;
  uint32_t rounds;
  uint32_t pulls;
  uint32_t means = 0;
};

// That no more rounds are open is checked where whole runs are simulated.
TEST(RuleMemoryTest, IsThatOfTheParadigm) {
  for (const Case& expected : {
           Case{"asp", 8, 0, 0},
           Case{"bsp", 8, 1, 0},
           Case{"bsp:steal=true", 8, 1, 0},
           Case{"bsp:steal=true,fill=true", 8, 2, 0},
           Case{"ssp:s=3", 8, 0, 0},
           Case{"ksync:k=2", 8, 1, 0},
           Case{"abs:pieces=8", 8, 2, 0},
           Case{"cgp", 4, 5, 0},
           Case{"cgp", 100, 14, 0},
           Case{"kasync:k=2", 100, 14, 0},
           Case{"asp:staleness_weight=delay_compensated", 8, 0, 8},
           Case{"kasync:k=2,staleness_weight=delay_compensated", 3, 4, 3},
           Case{"asp:staleness_weight=delay_compensated,mean_square=0.95", 8, 0,
                8, 1},
           Case{"syncswitch:first=bsp,then=asp", 8, 3, 0},
           Case{"syncswitch:first=bsp,then=asp:staleness_weight="
                "delay_compensated",
                8, 3, 8},
           Case{"cgp", 0, 1, 0},
       }) {
    const RuleMemory memory =
        MemoryOf(*ParseParadigm(expected.paradigm), expected.workers);
    EXPECT_EQ(memory.rounds, expected.rounds) << expected.paradigm;
    EXPECT_EQ(memory.pulls, expected.pulls) << expected.paradigm;
    EXPECT_EQ(memory.means, expected.means) << expected.paradigm;
  }
}

TEST(RuleMemoryTest, APullIsKeptWithTheOptimizersState) {
  EXPECT_EQ((RuleMemory{.rounds = 2}).Weights(2), 2u);
  EXPECT_EQ((RuleMemory{.rounds = 1, .pulls = 3}).Weights(2), 10u);
  EXPECT_EQ((RuleMemory{.pulls = 3, .means = 1}).Weights(2), 10u);
}

}  // namespace
}  // namespace paceline
