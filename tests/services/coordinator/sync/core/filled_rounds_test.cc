// Rounds that steal and fill their waits, over thousands of seeds in which
// nothing goes wrong: a round is as long as ever, and nothing is staler than by
// one update.

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/rng.h"
#include "gtest/gtest.h"
#include "services/simulator/virtual_cluster.h"
#include "tests/common/seed_count.h"
#include "tests/services/coordinator/sync/core/history_checker.h"

namespace paceline {
namespace {

constexpr Nanos kTick = 1'000'000;

// What each round has gathered when it is closed.
class RoundWatch : public ClusterObserver {
 public:
  struct Push {
    int64_t staleness = 0;   // As it was counted,
    int64_t at_closing = 0;  // and as it was.
    uint32_t samples = 0;
  };
  using Round = std::vector<Push>;

  void Decided(Nanos /*at*/, const RunOutput& output) override {
    if (const auto* grant = std::get_if<Grant>(&output)) {
      grants_[grant->worker] = *grant;
    } else if (const auto* plan = std::get_if<PlanCommand>(&output)) {
      grants_[plan->worker].plan = plan->plan;
    } else if (const auto* counted = std::get_if<PushCounted>(&output)) {
      const Grant& of = grants_[counted->worker];
      open_[of.plan.round].push_back(
          {counted->staleness, -of.base_version, counted->samples});
    } else if (const auto* recorded = std::get_if<Recorded>(&output)) {
      fills += recorded->decision.kind == DecisionKind::kFillsWait ? 1 : 0;
    } else if (const auto* command = std::get_if<NumberedCommand>(&output)) {
      const auto* const close = std::get_if<CloseCommand>(&command->command);
      if (close != nullptr) Close(*close);
    }
  }

  std::vector<Round> rounds;  // By their closings.
  int64_t fills = 0;

 private:
  void Close(const CloseCommand& close) {
    ASSERT_EQ(close.rounds.size(), 1u);
    Round& round =
        rounds.emplace_back(std::exchange(open_[close.rounds.front()], {}));
    for (Push& push : round) push.at_closing += close.closing - 1;
  }

  std::map<WorkerId, Grant> grants_;
  std::map<RoundId, Round> open_;
};

ClusterSpec SpecOf(uint64_t seed) {
  Rng rng(seed);
  ClusterSpec spec;
  spec.seed = seed;
  spec.servers = static_cast<int>(1 + rng.Below(2));
  spec.run.batch_size = static_cast<uint32_t>(1 + rng.Below(24));
  const uint64_t workers = 1 + rng.Below(6);
  for (uint64_t i = 0; i < workers; ++i) {
    WorkerSpec& worker = spec.workers.emplace_back();
    worker.name = absl::StrCat("w", i);
    worker.device.iteration = static_cast<Nanos>(50 + rng.Below(400)) * kTick;
    if (rng.Chance(1, 2)) {
      worker.device.jitter.kind = Jitter::Kind::kExponential;
    }
    worker.link.latency = static_cast<Nanos>(rng.Below(10)) * kTick;
    worker.wishes.extends = !rng.Chance(1, 4);
  }
  // Some twenty rounds, in epochs that they do not divide.
  spec.settings.stop.epochs = static_cast<int64_t>(1 + rng.Below(3));
  spec.train_samples =
      static_cast<uint32_t>(1 + rng.Below(20 * workers * spec.run.batch_size));
  return spec;
}

TEST(FilledRoundsTest, AreAsLongAsEverAndOneUpdateStaleAtMost) {
  int64_t fills = 0;
  int64_t stale = 0;
  int64_t pushes = 0;
  const Seeds seeds(SeedCount(5000));
  for (uint64_t seed = seeds.first; seed < seeds.end(); ++seed) {
    ClusterSpec spec = SpecOf(seed);
    spec.run.paradigm = *ParseParadigm(absl::StrCat(
        "bsp:steal=true,pieces=", seed % 3 == 0 ? 16 : 1 << seed % 3,
        seed % 4 == 0 ? ",redo=false" : ",fill=true"));
    HistoryChecker checker(spec);
    RoundWatch watch;
    VirtualCluster(&spec, {&checker, &watch}).Run();
    ASSERT_EQ(checker.Verdict(), "") << "seed " << seed;
    const int64_t whole =
        static_cast<int64_t>(spec.workers.size()) * spec.run.batch_size;
    int64_t before_the_end = 0;
    for (const RoundWatch::Round& round : watch.rounds) {
      int64_t samples = 0;
      for (const RoundWatch::Push& push : round) {
        samples += push.samples;
        ASSERT_EQ(push.staleness, push.at_closing) << "seed " << seed;
        ASSERT_LE(push.staleness, 1) << "seed " << seed;
        stale += push.staleness;
        ++pushes;
      }
      ASSERT_LE(samples, whole) << "seed " << seed;
      before_the_end += samples == whole ? 1 : 0;
    }
    // The samples may run out in the middle of two.
    ASSERT_GE(before_the_end + 2, static_cast<int64_t>(watch.rounds.size()))
        << "seed " << seed;
    fills += watch.fills;
  }
  // Or the seeds would prove little.
  EXPECT_GT(fills, static_cast<int64_t>(2 * seeds.count));
  EXPECT_GE(stale, fills / 2);
  EXPECT_LT(stale, pushes / 2);
}

}  // namespace
}  // namespace paceline
