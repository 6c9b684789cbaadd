// What travelling costs.

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/services/simulator/cluster_testing.h"

namespace paceline {
namespace {

TEST(NetworkTest, AnIterationPaysForSixMessagesAndTheModelTwice) {
  ClusterSpec spec = SteadySpec({1}, 3);
  spec.workers[0].link = {10 * kMillisecond, 1e6};
  spec.server_latency = 10 * kMillisecond;
  spec.model_bytes = 1'000'000;
  spec.servers = 4;  // Each sends and takes a quarter.
  const SimulationResult result = Simulate(spec, "asp");
  EXPECT_EQ(result.duration,
            3 * (kSecond + 6 * 10 * kMillisecond + 2 * 250 * kMillisecond));
  const WorkerResult& worker = result.workers[0];
  EXPECT_EQ(worker.pull, 3 * (2 * 10 + 250) * kMillisecond);
  EXPECT_EQ(worker.push, 3 * (2 * 10 + 250) * kMillisecond);
  EXPECT_EQ(worker.compute, 3 * kSecond);
  EXPECT_EQ(result.push_bytes, 3'000'000);
  EXPECT_EQ(result.pull_bytes, 3'000'000);
}

// The weights must not be read before the closing that the grant names.
class PullsAfterClosing : public ClusterObserver {
 public:
  void Closed(Nanos at, const CloseCommand& close,
              std::optional<ClosedGradient>& /*gradient*/) override {
    closed = close.closing;
    closed_at = at;
  }
  void Pulled(Nanos at, const Grant& grant) override {
    EXPECT_GE(closed, grant.closing);
    if (grant.closing > 0) {
      EXPECT_EQ(at, closed_at);
    }
    ++pulls;
  }

  Closing closed = 0;
  Nanos closed_at = 0;
  int pulls = 0;
};

TEST(NetworkTest, APullWaitsForItsClosing) {
  ClusterSpec spec = SteadySpec({1, 1}, 5);
  // The servers are farther from the coordinator than from the workers.
  spec.server_latency = 100 * kMillisecond;
  PullsAfterClosing observer;
  const SimulationResult result = Simulate(spec, "bsp", &observer);
  EXPECT_EQ(observer.pulls, 10);
  EXPECT_EQ(observer.closed, 5);
  EXPECT_EQ(result.duration, 5 * kSecond + 4 * 100 * kMillisecond);
}

TEST(NetworkTest, TheLastWeightsReachTheObserver) {
  ClusterSpec spec = SteadySpec({1, 1}, 2);
  spec.server_latency = 100 * kMillisecond;
  spec.run.evaluate = true;
  spec.run.eval_every = 1000;
  HistoryWriter history;
  const SimulationResult result = Simulate(spec, "bsp", &history);
  EXPECT_EQ(result.duration, 2 * kSecond + 100 * kMillisecond);
  EXPECT_THAT(history.text(),
              testing::HasSubstr("2200000000 closed 2 0 0\n"
                                 "2200000000 snapshot 1 32 1\n"));
}

TEST(NetworkTest, ARecordingBringsItsOwn) {
  ClusterSpec spec = SteadySpec({1}, 4);
  spec.workers[0].device.recorded =
      std::make_shared<const std::vector<RecordedIteration>>(
          std::vector<RecordedIteration>{
              {.compute = kSecond, .samples = 8, .push = 3, .pull = 4},
              {.compute = 2 * kSecond, .samples = 8}});
  const SimulationResult result = Simulate(spec, "asp");
  EXPECT_EQ(result.duration, 2 * (3 * kSecond + 7));
  EXPECT_EQ(result.workers[0].pull, 8);
  EXPECT_EQ(result.workers[0].push, 6);
}

// What was recorded holds the ways of request, weights, gradient and
// acknowledgement; the latency adds those of grant and report alone.
TEST(NetworkTest, ARecordingsLatencyIsNotCountedTwice) {
  ClusterSpec spec = SteadySpec({1}, 10);
  const Nanos tenth = 100 * kMillisecond;
  spec.workers[0]
      .device.recorded = std::make_shared<const std::vector<RecordedIteration>>(
      std::vector<RecordedIteration>{
          {.compute = kSecond, .samples = 8, .push = tenth, .pull = tenth}});
  spec.workers[0].link.latency = 10 * kMillisecond;
  const SimulationResult result = Simulate(spec, "asp");
  EXPECT_EQ(result.duration, 10 * (kSecond + 2 * tenth + 20 * kMillisecond));
}

// Its lease does not end between two snapshots.
TEST(NetworkTest, WhoEvaluatesRarelyStays) {
  ClusterSpec spec = SteadySpec({1, 1}, 100);
  spec.run.evaluate = true;
  spec.run.eval_every = spec.train_samples / 2;  // Every 50 s.
  spec.run.lease = absl::Seconds(10);
  EXPECT_TRUE(Simulate(spec, "asp").complete);
}

}  // namespace
}  // namespace paceline
