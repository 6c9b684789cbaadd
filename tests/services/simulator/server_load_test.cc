// What servers and their links take their time for.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/services/simulator/cluster_testing.h"

namespace paceline {
namespace {

using testing::ElementsAre;

// When the servers had taken each push, when each pull was read, and when each
// closing was applied.
class Moments : public ClusterObserver {
 public:
  void PushTaken(Nanos at, const Grant& /*grant*/, uint32_t /*samples*/,
                 PushReport& /*report*/) override {
    taken.push_back(at);
  }
  void Pulled(Nanos at, const Grant& /*grant*/) override {
    pulled.push_back(at);
  }
  void Closed(Nanos at, const CloseCommand& /*close*/,
              std::optional<ClosedGradient>& /*gradient*/) override {
    closed.push_back(at);
  }

  std::vector<Nanos> taken;
  std::vector<Nanos> pulled;
  std::vector<Nanos> closed;
};

// The model takes 100 ms through the link, alone.
ClusterSpec WithLink(const std::vector<double>& seconds, int64_t iterations) {
  ClusterSpec spec = SteadySpec(seconds, iterations);
  spec.model_bytes = 4'000'000;
  spec.servers = 4;
  spec.server.link_bytes_per_second = 1e7;
  return spec;
}

TEST(ServerLoadTest, EqualWorkersAtOnceTakeSoManyTimesAsLong) {
  for (int64_t n = 1; n <= 16; ++n) {
    const ClusterSpec spec = WithLink(std::vector<double>(n, 1), 3);
    const Nanos transfer = n * 100 * kMillisecond;
    for (const char* const paradigm : {"bsp", "asp"}) {
      const SimulationResult result = Simulate(spec, paradigm);
      EXPECT_EQ(result.duration, 3 * (kSecond + 2 * transfer)) << paradigm << n;
      EXPECT_EQ(result.workers[0].pull, 3 * transfer);
      EXPECT_EQ(result.workers[0].push, 3 * transfer);
    }
  }
}

TEST(ServerLoadTest, TheTwoDirectionsDoNotShare) {
  // While the second pulls, the first pushes.
  ClusterSpec spec = WithLink({0.1, 0.1}, 1);
  spec.changes = {{MembershipChange::Kind::kJoin, 1, 200 * kMillisecond}};
  const SimulationResult result = Simulate(spec, "asp");
  EXPECT_EQ(result.duration, 500 * kMillisecond);
}

TEST(ServerLoadTest, AWorkersOwnLinkIsNoFaster) {
  ClusterSpec spec = WithLink({1, 1}, 1);
  spec.workers[0].link.bytes_per_second = 2.5e6;  // 400 ms.
  Moments moments;
  Simulate(spec, "asp", &moments);
  // The second gets the 7.5 MB/s that the first leaves, 133 ms, for its pull.
  // When it pushes, the first still computes.
  EXPECT_THAT(moments.taken,
              ElementsAre(kSecond + 233'333'334, kSecond + 800 * kMillisecond));
}

TEST(ServerLoadTest, LatenciesComeOnTop) {
  ClusterSpec spec = WithLink({1, 1}, 1);
  for (WorkerSpec& worker : spec.workers) worker.link.latency = kMillisecond;
  spec.server_latency = kMillisecond;
  EXPECT_EQ(Simulate(spec, "asp").duration,
            kSecond + 400 * kMillisecond + 6 * kMillisecond);
}

// 100 ms for an update, 10 ms to take or send the model.
ClusterSpec WithServers(const std::vector<double>& seconds,
                        int64_t iterations) {
  ClusterSpec spec = SteadySpec(seconds, iterations);
  spec.model_bytes = 4'000'000;
  spec.servers = 4;
  spec.server.copy_bytes_per_second = 1e8;
  spec.server.apply_bytes_per_second = 2e7;
  spec.server.update = 50 * kMillisecond;
  return spec;
}

TEST(ServerLoadTest, PushesThatAreAppliedQueueAtAServer) {
  ClusterSpec spec = WithServers({1, 1, 1}, 1);
  spec.server.copy_bytes_per_second = 0;
  Moments moments;
  const SimulationResult result = Simulate(spec, "asp", &moments);
  EXPECT_THAT(moments.taken, ElementsAre(kSecond + 100 * kMillisecond,
                                         kSecond + 200 * kMillisecond,
                                         kSecond + 300 * kMillisecond));
  EXPECT_EQ(result.duration, kSecond + 300 * kMillisecond);
}

TEST(ServerLoadTest, ARoundIsOneUpdate) {
  ClusterSpec spec = WithServers({1, 1, 1}, 2);
  spec.server.copy_bytes_per_second = 0;
  Moments moments;
  const SimulationResult result = Simulate(spec, "bsp", &moments);
  // Nobody waits for the last update.
  EXPECT_EQ(result.duration, 2 * kSecond + 100 * kMillisecond);
  const Nanos second = kSecond + 100 * kMillisecond;
  EXPECT_THAT(moments.pulled, ElementsAre(0, 0, 0, second, second, second));
  EXPECT_THAT(moments.taken,
              ElementsAre(kSecond, kSecond, kSecond, result.duration,
                          result.duration, result.duration));
}

TEST(ServerLoadTest, TakingAndSendingQueueToo) {
  Moments moments;
  Simulate(WithServers({1, 1}, 1), "bsp", &moments);
  EXPECT_THAT(moments.pulled,
              ElementsAre(10 * kMillisecond, 20 * kMillisecond));
  EXPECT_THAT(moments.taken, ElementsAre(kSecond + 20 * kMillisecond,
                                         kSecond + 30 * kMillisecond));
}

TEST(ServerLoadTest, PullsQueueBehindPushes) {
  Moments moments;
  Simulate(WithServers({1, 1.05}, 2), "asp", &moments);
  // They pull at once, then push at 1.01 and 1.07 s. The first is served at
  // 1.12 s, and its pull waits for the second's push.
  ASSERT_GE(moments.pulled.size(), 3u);
  EXPECT_EQ(moments.pulled[0], 10 * kMillisecond);
  EXPECT_EQ(moments.pulled[1], 20 * kMillisecond);
  EXPECT_EQ(moments.taken[0], 1'120 * kMillisecond);
  EXPECT_EQ(moments.taken[1], 1'230 * kMillisecond);
  EXPECT_EQ(moments.pulled[2], 1'240 * kMillisecond);
}

TEST(ServerLoadTest, WhatTakesNoTimeWaitsForWhatCameBefore) {
  ClusterSpec spec = WithServers({1, 1.05}, 2);
  spec.server.copy_bytes_per_second = 0;
  Moments moments;
  Simulate(spec, "asp", &moments);
  // They push at 1 and 1.05 s. The first is served at 1.1 s, and its pull waits
  // for the second's push.
  ASSERT_GE(moments.pulled.size(), 3u);
  EXPECT_EQ(moments.taken[0], 1'100 * kMillisecond);
  EXPECT_EQ(moments.taken[1], 1'200 * kMillisecond);
  EXPECT_EQ(moments.pulled[2], 1'200 * kMillisecond);
}

// So a result does not jump as copying becomes faster and faster.
TEST(ServerLoadTest, ANanosecondOfCopyingIsAlmostNone) {
  for (const char* const paradigm :
       {"bsp", "asp", "ssp:s=3", "kasync:k=2", "backup:b=1"}) {
    const auto pulled = [&](double copy_rate) {
      ClusterSpec spec = WithServers({1, 1.013, 1.031, 1.047}, 10);
      spec.server.copy_bytes_per_second = copy_rate;
      Moments moments;
      Simulate(spec, paradigm, &moments);
      return moments.pulled;
    };
    const std::vector<Nanos> without = pulled(0);
    const std::vector<Nanos> with = pulled(1e15);
    ASSERT_EQ(without.size(), with.size()) << paradigm;
    for (size_t i = 0; i < with.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(without[i]), static_cast<double>(with[i]),
                  1000)
          << paradigm << i;
    }
  }
}

TEST(ServerLoadTest, ClosingsHaveTheirPlacesAmongPushes) {
  ClusterSpec spec = WithServers({1, 1, 1.07}, 1);
  spec.server_latency = 50 * kMillisecond;
  Moments moments;
  Simulate(spec, "kasync:k=1", &moments);
  // Two pushes are there at 1.02 and 1.03 s, so their closings arrive at 1.07
  // and 1.08 s. The third push arrives at 1.1 s, while the first closing is
  // applied, and waits for both.
  EXPECT_THAT(moments.taken,
              ElementsAre(1'020 * kMillisecond, 1'030 * kMillisecond,
                          1'280 * kMillisecond));
  ASSERT_GE(moments.closed.size(), 2u);
  EXPECT_EQ(moments.closed[0], 1'170 * kMillisecond);
  EXPECT_EQ(moments.closed[1], 1'270 * kMillisecond);
}

TEST(ServerLoadTest, APullIsServedBehindItsClosing) {
  ClusterSpec spec = WithServers({1, 1, 1.05}, 2);
  spec.server.copy_bytes_per_second = 0;
  Moments moments;
  Simulate(spec, "kasync:k=2", &moments);
  // The closing of the first two pushes is applied at 1.1 s. Their pulls have
  // come before the third push, whose round they do not wait for.
  ASSERT_GE(moments.pulled.size(), 5u);
  EXPECT_EQ(moments.closed[0], 1'100 * kMillisecond);
  EXPECT_EQ(moments.pulled[3], 1'100 * kMillisecond);
  EXPECT_EQ(moments.pulled[4], 1'100 * kMillisecond);
}

TEST(ServerLoadTest, ARecordedPullWaitsForItsClosing) {
  ClusterSpec spec = WithServers({1}, 2);
  spec.workers[0].device.recorded =
      std::make_shared<const std::vector<RecordedIteration>>(
          std::vector<RecordedIteration>{
              {.compute = kSecond, .samples = 8, .push = 5, .pull = 7}});
  Moments moments;
  Simulate(spec, "bsp", &moments);
  EXPECT_THAT(moments.pulled,
              ElementsAre(0, kSecond + 12 + 100 * kMillisecond));
}

// Whatever follows a closing on its way to the servers waits for it.
TEST(ServerLoadTest, ASnapshotHasTheClosingBeforeIt) {
  ClusterSpec spec = WithServers({1, 1}, 2);
  spec.run.evaluate = true;
  spec.run.eval_every = 1000;
  HistoryWriter history;
  Simulate(spec, "bsp", &history);
  const size_t closed = history.text().find("closed 2 0 0\n");
  const size_t snapshot = history.text().find("snapshot 1 32 1\n");
  ASSERT_NE(closed, std::string::npos);
  ASSERT_NE(snapshot, std::string::npos);
  EXPECT_LT(closed, snapshot);
}

// Where updates take long, as with many tensors, one for each round is less
// work than one for each push.
TEST(ServerLoadTest, LongUpdatesMakeBspTheFastest) {
  const auto pushes = [](Nanos update, const char* paradigm) {
    ClusterSpec spec = TimedSpec({0.1, 0.1, 0.1, 0.1}, 60);
    spec.server.update = update;
    return Simulate(spec, paradigm).pushes;
  };
  EXPECT_EQ(pushes(0, "asp"), pushes(0, "bsp"));
  EXPECT_NEAR(static_cast<double>(pushes(50 * kMillisecond, "bsp")),
              4 * 60 / 0.15, 4);
  // Each pull waits for the four updates that are queued.
  EXPECT_NEAR(static_cast<double>(pushes(50 * kMillisecond, "asp")),
              4 * 60 / 0.3, 4);
}

TEST(ServerLoadTest, ARecordingHasItInItsTimes) {
  ClusterSpec spec = WithLink({1}, 3);
  spec.server.apply_bytes_per_second = 1e7;
  spec.server.copy_bytes_per_second = 1e7;
  spec.workers[0].device.recorded =
      std::make_shared<const std::vector<RecordedIteration>>(
          std::vector<RecordedIteration>{
              {.compute = kSecond, .samples = 8, .push = 5, .pull = 7}});
  EXPECT_EQ(Simulate(spec, "asp").duration, 3 * (kSecond + 12));
}

TEST(ServerLoadTest, WhoCrashesGivesItsPartBack) {
  // Both pull until 0.2 s and compute until 1.2 s. One of them crashes when
  // half of its push is under way, after 0.1 s with half of the link.
  ClusterSpec spec = WithLink({1, 1}, 1);
  spec.run.lease = absl::Seconds(1);
  spec.changes = {{MembershipChange::Kind::kCrash, 1, 1'300 * kMillisecond}};
  Moments moments;
  Simulate(spec, "asp", &moments);
  ASSERT_FALSE(moments.taken.empty());
  EXPECT_EQ(moments.taken[0], 1'350 * kMillisecond);
}

// In rounds all push and then all pull: one direction is always idle.
TEST(ServerLoadTest, AFullLinkIsWorseForRounds) {
  const auto rate = [](const char* paradigm) {
    ClusterSpec spec = TimedSpec({1, 1, 1, 1}, 600);
    for (WorkerSpec& worker : spec.workers) {
      worker.device.jitter = {.kind = Jitter::Kind::kNormal, .spread = 0.05};
    }
    spec.model_bytes = 1'000'000'000;
    spec.server.link_bytes_per_second = 1e9;
    return static_cast<double>(Simulate(spec, paradigm).pushes) / 600;
  };
  EXPECT_NEAR(rate("bsp"), 4 / (1 + 4 + 4.0), 0.02);
  EXPECT_GT(rate("asp"), 1.25 * rate("bsp"));
  EXPECT_LT(rate("asp"), 1);  // A direction carries one push a second.
}

// Nothing travels through the link, and nothing is done by bytes.
TEST(ServerLoadTest, WhatTakesNoTimeChangesNothing) {
  ClusterSpec usual = SteadySpec({1, 1, 1, 4}, 20);
  for (WorkerSpec& worker : usual.workers) {
    worker.device.jitter = {.kind = Jitter::Kind::kNormal, .spread = 0.1};
    worker.link.latency = kMillisecond;
  }
  ClusterSpec loaded = usual;
  loaded.server.link_bytes_per_second = 1;
  loaded.server.copy_bytes_per_second = 1;
  loaded.server.apply_bytes_per_second = 1;
  for (const std::string& paradigm : AllParadigms()) {
    HistoryWriter first;
    HistoryWriter second;
    Simulate(usual, paradigm, &first);
    Simulate(loaded, paradigm, &second);
    EXPECT_EQ(first.text(), second.text()) << paradigm;
  }
}

// Whatever happens, one spec gives one history, every sample is counted once,
// and the servers never serve faster than they can.
TEST(ServerLoadTest, ManySeedsKeepTheInvariants) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    const auto workers = static_cast<size_t>(1 + rng.Below(6));
    ClusterSpec spec = SteadySpec(std::vector<double>(workers, 1), 12);
    for (WorkerSpec& worker : spec.workers) {
      worker.device.jitter = {.kind = Jitter::Kind::kNormal, .spread = 0.2};
      worker.device.iteration += static_cast<Nanos>(rng.Below(kSecond));
      worker.link.latency = static_cast<Nanos>(rng.Below(3) * kMillisecond);
      if (rng.Chance(1, 2)) worker.link.bytes_per_second = 5e6;
    }
    spec.seed = seed;
    spec.model_bytes = static_cast<int64_t>(1 + rng.Below(1'000'000));
    spec.servers = static_cast<int>(1 + rng.Below(3));
    spec.run.lease = absl::Minutes(10);
    if (rng.Chance(2, 3)) spec.server.link_bytes_per_second = 3e6;
    if (rng.Chance(2, 3)) spec.server.apply_bytes_per_second = 5e6;
    if (rng.Chance(1, 2)) spec.server.copy_bytes_per_second = 2e7;
    if (rng.Chance(1, 2)) spec.server.update = 20 * kMillisecond;
    if (workers > 1 && rng.Chance(1, 2)) {
      const auto at = static_cast<Nanos>(rng.Below(9 * kSecond));
      const bool crash = rng.Chance(1, 2);
      spec.run.lease = absl::Seconds(10);
      spec.changes = {
          {crash ? MembershipChange::Kind::kCrash
                 : MembershipChange::Kind::kLeave,
           workers - 1, at},
          {MembershipChange::Kind::kJoin, workers - 1, at + 30 * kSecond}};
    }
    const std::vector<std::string> paradigms = AllParadigms();
    const std::string& paradigm = paradigms[seed % paradigms.size()];
    const std::string trace = paradigm + " " + std::to_string(seed);
    HistoryWriter first;
    const SimulationResult result = Simulate(spec, paradigm, &first);
    ASSERT_TRUE(result.complete) << trace;
    EXPECT_EQ(result.samples, spec.train_samples) << trace;
    Moments moments;
    Simulate(spec, paradigm, &moments);
    const double bytes = static_cast<double>(spec.model_bytes) / spec.servers;
    if (spec.server.copy_bytes_per_second > 0) {
      const auto copy =
          static_cast<Nanos>(bytes * 1e9 / spec.server.copy_bytes_per_second);
      for (size_t i = 1; i < moments.taken.size(); ++i) {
        ASSERT_GE(moments.taken[i] - moments.taken[i - 1], copy) << trace;
      }
    }
    HistoryWriter second;
    Simulate(spec, paradigm, &second);
    ASSERT_EQ(first.text(), second.text()) << trace;
  }
}

}  // namespace
}  // namespace paceline
