// Workers that have samples reserved: whole runs in virtual time.

#include <string>
#include <variant>
#include <vector>

#include "gtest/gtest.h"
#include "services/simulator/virtual_cluster.h"
#include "tests/services/coordinator/sync/core/history_checker.h"
#include "tests/services/simulator/cluster_testing.h"

namespace paceline {
namespace {

constexpr Nanos kSlowest = 4 * kSecond;

void LoadAhead(ClusterSpec& spec, uint32_t samples) {
  for (WorkerSpec& worker : spec.workers) worker.wishes.lookahead = samples;
}

// How often a lot was withdrawn.
class Withdrawals : public ClusterObserver {
 public:
  void Decided(Nanos /*at*/, const RunOutput& output) override {
    count += std::holds_alternative<DropReserved>(output) ? 1 : 0;
  }

  int count = 0;
};

class LookaheadTest : public testing::TestWithParam<std::string> {
 protected:
  SimulationResult Run(const ClusterSpec& spec) {
    ClusterSpec cluster = spec;
    cluster.run.paradigm = *ParseParadigm(GetParam());
    HistoryChecker checker(cluster);
    const SimulationResult result =
        VirtualCluster(&cluster, {&checker, &withdrawals_}).Run();
    EXPECT_EQ(checker.Verdict(), "");
    EXPECT_TRUE(result.complete);
    return result;
  }

  Withdrawals withdrawals_;
};

// The end comes no later than without: nobody sits on samples that others could
// compute. One has its next batches, another none, a third more than the job.
TEST_P(LookaheadTest, CostsNoTime) {
  const ClusterSpec plain = SteadySpec({1, 1, 1, 4}, 30);
  const Nanos without = Run(plain).duration;
  // What a slow worker leaves of its batch under ABS-SGD is a short one for
  // whoever reserves it, and not again for itself: rounds have less.
  const Nanos most =
      GetParam() == "abs" ? without + without / 4 : without + kSlowest;
  for (const std::vector<uint32_t>& lookaheads :
       {std::vector<uint32_t>{32, 32, 32, 32},
        {8, 0, 100'000, 32},
        {0, 0, 0, 100'000}}) {
    ClusterSpec spec = plain;
    for (size_t i = 0; i < lookaheads.size(); ++i) {
      spec.workers[i].wishes.lookahead = lookaheads[i];
    }
    const SimulationResult result = Run(spec);
    EXPECT_LE(result.duration, most) << lookaheads[0];
    EXPECT_EQ(result.samples, int64_t{spec.train_samples});
  }
}

INSTANTIATE_TEST_SUITE_P(All, LookaheadTest, testing::ValuesIn(AllParadigms()));

class FewParadigmsTest : public LookaheadTest {};

// In the middle of a job nothing is withdrawn: what was loaded ahead is used.
TEST_P(FewParadigmsTest, LotsAreWithdrawnAtTheEndAlone) {
  for (const int64_t iterations : {100, 1000}) {
    withdrawals_.count = 0;
    ClusterSpec spec = SteadySpec({1, 1, 1, 4}, iterations);
    LoadAhead(spec, 4 * kSteadyBatch);
    Run(spec);
    EXPECT_LE(withdrawals_.count, 12) << iterations;
  }
}

// Whole micro-batches divide the work nearly as well as single samples do.
TEST_P(FewParadigmsTest, BalancedBatchesStaySo) {
  ClusterSpec spec = SteadySpec({1, 1, 1, 4}, 100);
  for (WorkerSpec& worker : spec.workers) {
    // The same rate with the larger batch.
    worker.device.iteration *= 4;
  }
  spec.run.batch_size = 4 * kSteadyBatch;
  spec.train_samples *= 4;
  spec.settings.batching = Batching::kBalanced;
  spec.micro_batch = kSteadyBatch / 2;
  const Nanos without = Run(spec).duration;
  LoadAhead(spec, 8 * kSteadyBatch);
  EXPECT_LE(Run(spec).duration, without + without / 8);
}

INSTANTIATE_TEST_SUITE_P(Each, FewParadigmsTest,
                         testing::Values("bsp", "asp", "ssp:s=3", "cgp"));

}  // namespace
}  // namespace paceline
