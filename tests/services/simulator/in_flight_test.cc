// Several iterations of one worker, which compute in turn on its device.

#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/simulator/device_queue.h"
#include "tests/services/coordinator/sync/core/history_checker.h"
#include "tests/services/simulator/cluster_testing.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using Kind = MembershipChange::Kind;

constexpr Nanos kTenth = kSecond / 10;

// One worker that takes a second, `iterations` in all, with so many in flight.
ClusterSpec InFlightSpec(int in_flight, int64_t iterations,
                         const LinkSpec& link = {}) {
  ClusterSpec spec = SteadySpec({1}, iterations);
  spec.workers[0].link = link;
  while (spec.workers.size() < static_cast<size_t>(in_flight)) {
    WorkerSpec other = spec.workers[0];
    other.name = "w0." + std::to_string(spec.workers.size() + 1);
    other.of = 0;
    spec.workers.push_back(other);
  }
  return spec;
}

TEST(DeviceQueueTest, GoesByWhoHasAskedFirst) {
  DeviceQueue queue;
  EXPECT_TRUE(queue.Ask(7));
  EXPECT_FALSE(queue.Ask(8));
  EXPECT_FALSE(queue.Ask(9));
  EXPECT_EQ(queue.Leave(8), std::nullopt) << "it had waited only";
  EXPECT_EQ(queue.Leave(7), 9);
  EXPECT_EQ(queue.Leave(7), std::nullopt) << "it had left before";
  EXPECT_EQ(queue.Leave(9), std::nullopt);
  EXPECT_TRUE(queue.Ask(7));
}

TEST(InFlightTest, MessagesAreHiddenBehindTheComputing) {
  const LinkSpec link = {.latency = kTenth};
  // The ways of grant, request, weights, gradient, acknowledgement and report.
  EXPECT_EQ(Simulate(InFlightSpec(1, 6, link), "asp").duration,
            6 * (kSecond + 6 * kTenth));
  const SimulationResult two = Simulate(InFlightSpec(2, 6, link), "asp");
  EXPECT_EQ(two.duration, 6 * kSecond + 6 * kTenth);
  EXPECT_THAT(PushesOf(two), ElementsAre(3, 3));
  // Waiting for the device is a part of it.
  EXPECT_EQ(two.workers[0].compute + two.workers[1].compute,
            (1 + 2 + 4 * 2) * kSecond - 4 * 6 * kTenth);
}

TEST(InFlightTest, TheLinkIsOne) {
  // The model takes it for two seconds in each direction.
  const auto with = [](int in_flight) {
    ClusterSpec spec = InFlightSpec(in_flight, 9, {.bytes_per_second = 1000});
    spec.model_bytes = 2000;
    return Simulate(spec, "asp").duration;
  };
  EXPECT_EQ(with(1), 9 * 5 * kSecond);
  // A pull each two seconds is the most, after which the last one is computed
  // and pushed.
  EXPECT_EQ(with(3), (9 * 2 + 1 + 2) * kSecond);
  EXPECT_EQ(with(4), (9 * 2 + 1 + 2) * kSecond);
}

TEST(InFlightTest, ARoundHasThemAll) {
  const SimulationResult result = Simulate(InFlightSpec(2, 6), "bsp");
  EXPECT_EQ(result.closings, 3);
  EXPECT_EQ(result.duration, 6 * kSecond);
}

TEST(InFlightTest, StolenPartsComputeInTurn) {
  for (const char* const rule : {"bsp:steal=true", "kbatchsync:k=2", "cgp"}) {
    ClusterSpec spec = InFlightSpec(2, 40);
    HistoryChecker checker(spec);
    const SimulationResult result = Simulate(spec, rule, &checker);
    EXPECT_EQ(checker.Verdict(), "") << rule;
    EXPECT_TRUE(result.complete) << rule;
    EXPECT_GE(result.duration, 40 * kSecond) << rule << ": on one device";
  }
}

TEST(InFlightTest, WhoIsLostLeavesTheDevice) {
  ClusterSpec spec = InFlightSpec(2, 6);
  spec.run.lease = absl::Seconds(3);
  // In the middle of its second iteration; the other one waits.
  spec.changes = {{Kind::kCrash, 0, 2'500'000'000}};
  HistoryChecker checker(spec);
  const SimulationResult result = Simulate(spec, "asp", &checker);
  EXPECT_EQ(checker.Verdict(), "");
  EXPECT_THAT(PushesOf(result), ElementsAre(1, 5));
  EXPECT_EQ(result.duration, 2'500'000'000 + 4 * kSecond);
}

}  // namespace
}  // namespace paceline
