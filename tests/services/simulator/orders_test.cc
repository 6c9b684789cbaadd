// What a worker does when it is told to ask, to refresh or to abandon.

#include <memory>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/simulator/virtual_cluster.h"
#include "tests/services/coordinator/sync/core/history_checker.h"
#include "tests/services/simulator/cluster_testing.h"
#include "tests/services/simulator/orders_policy.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

SimulationResult Obey(const ClusterSpec& spec, const Orders& orders,
                      ClusterObserver* observer = nullptr) {
  ClusterSpec cluster = spec;
  cluster.run.make_policy = [&orders](const ParadigmSpec&) {
    return std::make_unique<OrdersPolicy>(orders);
  };
  return VirtualCluster(&cluster, {observer}).Run();
}

// When the pushes of worker 1 were taken, and of how many samples.
class PushesOfOne : public ClusterObserver {
 public:
  void PushTaken(Nanos at, const Grant& grant, uint32_t samples,
                 PushReport& /*report*/) override {
    if (ToNumber(grant.worker) == 1)
      pushes.emplace_back(ToSeconds(at), samples);
  }

  std::vector<std::tuple<double, uint32_t>> pushes;
};

TEST(OrdersTest, AskingTakesTheWayThereAndBack) {
  ClusterSpec spec = SteadySpec({1}, 1);
  spec.workers[0].link.latency = kMillisecond;
  HistoryWriter history;
  const SimulationResult result =
      Obey(spec, {.plan = PushPlan::Ask()}, &history);
  EXPECT_TRUE(result.complete);
  const WorkerResult& worker = result.workers[0];
  EXPECT_EQ(worker.pull, 2 * kMillisecond);
  EXPECT_EQ(worker.compute, kSecond);
  EXPECT_EQ(worker.push, 2 * kMillisecond);
  EXPECT_EQ(worker.wait, 3 * kMillisecond);  // Grant, question, answer.
  // The grant, both ways of a pull, question, answer, both ways of the push,
  // and the report.
  EXPECT_EQ(result.duration, kSecond + 8 * kMillisecond);
  EXPECT_THAT(history.text(), HasSubstr("\n2000000 pulled 0 1 0\n"
                                        "1003000000 computed 0 1 8\n"
                                        "1004000000 output 1 0 0\n"
                                        "1006000000 taken 0 1 8\n"
                                        "1008000000 output"));
}

TEST(OrdersTest, ADiscardedGradientIsNotPushed) {
  const ClusterSpec spec = SteadySpec({1, 2}, 10);
  PushesOfOne pushes;
  const SimulationResult result = Obey(
      spec, {.plan = PushPlan::Ask(), .answer = PushPlan::Discard()}, &pushes);
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(result.pushes, 20);
  EXPECT_EQ(result.discarded, 20);
  EXPECT_EQ(result.updates, 0);
  EXPECT_THAT(pushes.pushes, IsEmpty());
}

TEST(OrdersTest, ARefreshPushesWhatIsDoneAtTheNextBoundary) {
  // Pieces of two samples, one a second; orders come at 1.5, 3 and 4.5 s. What
  // is left of the first batch is the second, and what is left of that the
  // third, too short to be cut again.
  const ClusterSpec spec = TimedSpec({1.5, 4}, 5);
  PushesOfOne pushes;
  const SimulationResult result =
      Obey(spec, {.pieces = 4, .refresh = true}, &pushes);
  EXPECT_THAT(pushes.pushes,
              ElementsAre(std::tuple(2.0, 4u), std::tuple(3.0, 2u),
                          std::tuple(4.0, 2u), std::tuple(5.0, 2u)));
  EXPECT_EQ(result.refreshed, 3);
}

TEST(OrdersTest, ARefreshAtABoundaryTakesEffectThere) {
  const ClusterSpec spec = TimedSpec({2, 4}, 4);
  PushesOfOne pushes;
  Obey(spec, {.pieces = 4, .refresh = true}, &pushes);
  EXPECT_THAT(pushes.pushes,
              ElementsAre(std::tuple(2.0, 4u), std::tuple(4.0, 4u)));
}

TEST(OrdersTest, TheTailOfARefreshedBatchIsDealtAgain) {
  const ClusterSpec spec = SteadySpec({1.5, 4}, 20);
  HistoryChecker checker(spec);
  const SimulationResult result =
      Obey(spec, {.pieces = 4, .refresh = true}, &checker);
  EXPECT_TRUE(result.complete);
  EXPECT_GT(result.refreshed, 5);
  EXPECT_EQ(checker.Verdict(), "");
}

TEST(OrdersTest, WithoutPiecesThereIsNoBoundary) {
  const ClusterSpec spec = TimedSpec({1.5, 4}, 8);
  PushesOfOne pushes;
  Obey(spec, {.refresh = true}, &pushes);
  EXPECT_THAT(pushes.pushes,
              ElementsAre(std::tuple(4.0, 8u), std::tuple(8.0, 8u)));
}

TEST(OrdersTest, TheSmallerMicroBatchCounts) {
  ClusterSpec spec = TimedSpec({1.3, 4}, 2);
  spec.micro_batch = 1;  // A boundary each half second.
  PushesOfOne pushes;
  Obey(spec, {.pieces = 2, .refresh = true}, &pushes);
  EXPECT_THAT(pushes.pushes, ElementsAre(std::tuple(1.5, 3u)));
}

// A piece takes a second, and half a second more if it is not the first.
TEST(OrdersTest, MicroBatchesAfterTheFirstMayCost) {
  ClusterSpec spec = TimedSpec({1.5, 4}, 11);
  spec.workers[1].device.micro_batch = kSecond / 2;
  PushesOfOne whole;
  Obey(spec, {.pieces = 4}, &whole);
  EXPECT_THAT(whole.pushes,
              ElementsAre(std::tuple(5.5, 8u), std::tuple(11.0, 8u)));
  PushesOfOne cut;
  Obey(spec, {.pieces = 4, .refresh = true}, &cut);
  EXPECT_EQ(cut.pushes.at(0), std::tuple(2.5, 4u));
}

// The order of 1 s reaches worker 1 while its weights travel.
TEST(OrdersTest, ARefreshDuringThePullLeavesOnePiece) {
  ClusterSpec spec = TimedSpec({1, 4}, 5);
  spec.model_bytes = 1;
  spec.workers[1].link.bytes_per_second = 0.5;  // Two seconds each way.
  PushesOfOne pushes;
  Obey(spec, {.pieces = 4, .refresh = true}, &pushes);
  EXPECT_THAT(pushes.pushes, ElementsAre(std::tuple(5.0, 2u)));
}

TEST(OrdersTest, AnAbandonedIterationIsDealtAgain) {
  const ClusterSpec spec = SteadySpec({1, 4}, 10);
  HistoryChecker checker(spec);
  PushesOfOne pushes;
  const SimulationResult result = Obey(spec, {.abandon = true}, &checker);
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(checker.Verdict(), "");
  // Worker 1 never gets through until worker 0 has nothing left to push.
  EXPECT_GE(result.abandoned, 19);
  EXPECT_THAT(PushesOf(result), ElementsAre(19, 1));
}

TEST(OrdersTest, WhoAsksCanBeToldToAbandon) {
  ClusterSpec spec = SteadySpec({1, 0.9}, 10);
  spec.workers[1].link.latency = 50 * kMillisecond;
  HistoryChecker checker(spec);
  const SimulationResult result =
      Obey(spec, {.plan = PushPlan::Ask(), .abandon = true}, &checker);
  EXPECT_TRUE(result.complete);
  EXPECT_GT(result.abandoned, 0);
  EXPECT_EQ(checker.Verdict(), "");
}

TEST(OrdersTest, APushUnderWayIsNotAbandoned) {
  ClusterSpec spec = TimedSpec({1, 0.5}, 1.5);
  spec.model_bytes = 1;
  spec.workers[1].link.bytes_per_second = 2;  // Half a second each way.
  PushesOfOne pushes;
  const SimulationResult result = Obey(spec, {.abandon = true}, &pushes);
  EXPECT_EQ(result.abandoned, 0);
  EXPECT_THAT(pushes.pushes, ElementsAre(std::tuple(1.5, 8u)));
}

}  // namespace
}  // namespace paceline
