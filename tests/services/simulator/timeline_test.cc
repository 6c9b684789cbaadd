#include "services/simulator/timeline.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/services/simulator/cluster_testing.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Kind = MembershipChange::Kind;
using Span = Timeline::Span;

constexpr size_t kNoLimit = 1 << 20;
constexpr WorkerPhase kAbsent = WorkerPhase::kAbsent;
constexpr WorkerPhase kWait = WorkerPhase::kWait;
constexpr WorkerPhase kPull = WorkerPhase::kPull;
constexpr WorkerPhase kCompute = WorkerPhase::kCompute;
constexpr WorkerPhase kPush = WorkerPhase::kPush;

Nanos Length(const Timeline::Row& row) {
  Nanos length = 0;
  for (const Span& span : row) length += span.length;
  return length;
}

Nanos Spent(const Timeline::Row& row, WorkerPhase phase) {
  Nanos length = 0;
  for (const Span& span : row) length += span.phase == phase ? span.length : 0;
  return length;
}

TEST(TimelineTest, UnderBspTheFastOneWaits) {
  const ClusterSpec spec = SteadySpec({1, 3}, 2);
  Timeline timeline(2, kNoLimit);
  Simulate(spec, "bsp", &timeline);
  EXPECT_THAT(
      timeline.rows()[0],
      ElementsAre(Span{kCompute, 1 * kSecond}, Span{kWait, 2 * kSecond},
                  Span{kCompute, 1 * kSecond}, Span{kWait, 2 * kSecond}));
  EXPECT_THAT(timeline.rows()[1], ElementsAre(Span{kCompute, 3 * kSecond},
                                              Span{kCompute, 3 * kSecond}));
  EXPECT_EQ(timeline.end(), 6 * kSecond);
  EXPECT_FALSE(timeline.full());
}

TEST(TimelineTest, PullAndPushTakeTheTimeOfTheLink) {
  ClusterSpec spec = SteadySpec({1}, 2);
  spec.model_bytes = 2;
  spec.workers[0].link = {.latency = kSecond / 10, .bytes_per_second = 1};
  Timeline timeline(1, kNoLimit);
  Simulate(spec, "asp", &timeline);
  // The grant travels, then request and weights; later gradient and
  // acknowledgement. Between two iterations the report and the grant travel.
  const Nanos exchange = 2 * kSecond + kSecond / 5;
  EXPECT_THAT(timeline.rows()[0],
              ElementsAre(Span{kWait, kSecond / 10}, Span{kPull, exchange},
                          Span{kCompute, kSecond}, Span{kPush, exchange},
                          Span{kWait, kSecond / 5}, Span{kPull, exchange},
                          Span{kCompute, kSecond}, Span{kPush, exchange},
                          Span{kWait, kSecond / 10}));
}

TEST(TimelineTest, WhoComesAndGoesIsAbsentBetween) {
  ClusterSpec spec = TimedSpec({1, 1}, 10);
  spec.changes = {{Kind::kLeave, 1, 2'500'000'000},
                  {Kind::kJoin, 1, 4'000'000'000},
                  {Kind::kCrash, 1, 5'250'000'000}};
  Timeline timeline(2, kNoLimit);
  Simulate(spec, "asp", &timeline);
  EXPECT_THAT(
      timeline.rows()[1],
      ElementsAre(Span{kCompute, kSecond}, Span{kCompute, kSecond},
                  Span{kCompute, kSecond / 2}, Span{kAbsent, 3 * kSecond / 2},
                  Span{kCompute, kSecond}, Span{kCompute, kSecond / 4}));
  EXPECT_EQ(Length(timeline.rows()[0]), 10 * kSecond);
  EXPECT_EQ(timeline.end(), 10 * kSecond);
}

TEST(TimelineTest, AnIterationThatTheEndCutsIsThere) {
  const ClusterSpec spec = TimedSpec({1, 4}, 6);
  Timeline timeline(2, kNoLimit);
  Simulate(spec, "asp", &timeline);
  EXPECT_THAT(timeline.rows()[1], ElementsAre(Span{kCompute, 4 * kSecond},
                                              Span{kCompute, 2 * kSecond}));
}

TEST(TimelineTest, AtTheLimitAllRowsEndAtOneMoment) {
  const ClusterSpec spec = TimedSpec({1, 1, 7}, 100);
  Timeline timeline(3, 20);
  Simulate(spec, "asp", &timeline);
  EXPECT_TRUE(timeline.full());
  EXPECT_LE(timeline.end(), 11 * kSecond);
  for (const Timeline::Row& row : timeline.rows()) {
    EXPECT_EQ(Length(row), timeline.end());
  }
}

TEST(TimelineTest, NothingHappensWithoutARun) {
  EXPECT_THAT(Timeline(2, kNoLimit).rows(), ElementsAre(IsEmpty(), IsEmpty()));
}

// Rows against what the run counts by itself, on links and devices that make
// everything happen, with micro-batches so that refreshes cut iterations short.
TEST(TimelineTest, AgreesWithTheCountsOfEveryParadigm) {
  for (const std::string& paradigm : AllParadigms()) {
    SCOPED_TRACE(paradigm);
    ClusterSpec spec = TimedSpec({1, 1.1, 1.7, 3}, 50);
    spec.model_bytes = 1000;
    spec.micro_batch = 2;
    for (WorkerSpec& worker : spec.workers) {
      worker.link = {.latency = kSecond / 100, .bytes_per_second = 20'000};
      worker.device.jitter = {.kind = Jitter::Kind::kNormal, .spread = 0.2};
    }
    spec.changes = {{Kind::kCrash, 1, 9'300'000'000},
                    {Kind::kLeave, 2, 12'300'000'000},
                    {Kind::kJoin, 1, 30'100'000'000}};
    Timeline timeline(4, kNoLimit);
    const SimulationResult result = Simulate(spec, paradigm, &timeline);
    for (size_t i = 0; i < 4; ++i) {
      SCOPED_TRACE(i);
      const Timeline::Row& row = timeline.rows()[i];
      const WorkerResult& counted = result.workers[i];
      EXPECT_EQ(Length(row) - Spent(row, kAbsent), counted.alive);
      // Iterations that broke off are in the rows only.
      EXPECT_GE(Spent(row, kCompute), counted.compute);
      EXPECT_GE(Spent(row, kPush), counted.push);
      EXPECT_GE(Spent(row, kPull), counted.pull);
    }
  }
}

}  // namespace
}  // namespace paceline
