// A worker that becomes slow, and recovers, is recognised under every paradigm.

#include <string>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/coordinator/sync/core/decision.h"
#include "tests/services/simulator/cluster_testing.h"

namespace paceline {
namespace {

constexpr WorkerId kSlow{3};
constexpr Nanos kSlowFrom = 50 * kSecond;
constexpr Nanos kSlowUntil = 250 * kSecond;

// What is recorded of stragglers, and how many iterations of the slow worker
// had been counted since its speed changed.
class FlagWatch : public ClusterObserver {
 public:
  struct Flag {
    WorkerId worker;
    bool straggler;
    Nanos at;
    int64_t iterations;
    std::string text;
  };

  void Decided(Nanos at, const RunOutput& output) override {
    if (const auto* counted = std::get_if<PushCounted>(&output)) {
      if (counted->worker == kSlow) pushes_.push_back(at);
      return;
    }
    const auto* recorded = std::get_if<Recorded>(&output);
    if (recorded == nullptr) return;
    const Decision& decision = recorded->decision;
    if (decision.kind != DecisionKind::kStraggler &&
        decision.kind != DecisionKind::kNoStraggler) {
      return;
    }
    const bool straggler = decision.kind == DecisionKind::kStraggler;
    const Nanos changed = straggler ? kSlowFrom : kSlowUntil;
    int64_t iterations = 0;
    for (const Nanos push : pushes_) iterations += push > changed ? 1 : 0;
    flags_.push_back(
        {decision.worker, straggler, at, iterations, Render(decision)});
  }

  const std::vector<Flag>& flags() const { return flags_; }

 private:
  std::vector<Nanos> pushes_;
  std::vector<Flag> flags_;
};

class StragglersTest : public testing::TestWithParam<std::string> {};

TEST_P(StragglersTest, IsRecognisedAndClearedWithinTenIterations) {
  ClusterSpec spec = TimedSpec({1, 1, 1, 1}, 400);
  spec.workers[3].device.jitter.bursts =
      Bursts{.every = 100'000 * kSecond,
             .length = kSlowUntil - kSlowFrom,
             .factor = 4,
             .first = kSlowFrom};
  FlagWatch watch;
  Simulate(spec, GetParam(), &watch);
  ASSERT_EQ(watch.flags().size(), 2u);
  const FlagWatch::Flag& raised = watch.flags()[0];
  const FlagWatch::Flag& cleared = watch.flags()[1];
  EXPECT_TRUE(raised.straggler);
  EXPECT_FALSE(cleared.straggler);
  for (const FlagWatch::Flag& flag : watch.flags()) {
    EXPECT_EQ(flag.worker, kSlow);
    EXPECT_LE(flag.iterations, 10);
    // Why, with the score.
    EXPECT_THAT(flag.text, testing::HasSubstr("median")) << flag.text;
  }
  EXPECT_GT(raised.at, kSlowFrom);
  EXPECT_GT(cleared.at, kSlowUntil);
}

// Who drops the iterations of the slow never learns how slow they are. Nor,
// among equal workers, that the last one in each round is slow no more.
std::vector<std::string> ParadigmsThatMeasureEverybody() {
  std::vector<std::string> all = AllParadigms();
  std::erase_if(all, [](const std::string& paradigm) {
    return paradigm.starts_with("ksync") ||
           paradigm.starts_with("kbatchsync") ||
           paradigm.starts_with("backup") ||
           paradigm.ends_with("straggler=drop");
  });
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, StragglersTest,
                         testing::ValuesIn(ParadigmsThatMeasureEverybody()));

}  // namespace
}  // namespace paceline
