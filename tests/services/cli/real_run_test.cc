#include "services/cli/plot/real_run.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const Json kTwoWorkers = Json::parse(R"({
  "paradigm": "bsp", "seconds": 10, "samples": 640,
  "workers": [
    {"worker": "w0", "gap": {"max": 2}, "staleness": {"max": 3},
     "seconds": {"load": 1, "compute": 4, "push": 1, "wait": 3, "pull": 1}},
    {"worker": "w1", "gap": {"max": 1}, "staleness": {"max": 5},
     "seconds": {"load": 0, "compute": 9, "push": 0, "wait": 1, "pull": 0}}]})");

// Reported at that second, a quarter of a second of each phase but `compute`.
void Add(v1::ListIterationsResponse& listed, const std::string& worker,
         double seconds, double compute) {
  v1::Iteration& iteration = *listed.add_iterations();
  iteration.set_sequence(listed.iterations_size());
  iteration.set_worker(worker);
  iteration.set_seconds(seconds);
  iteration.mutable_phases()->set_wait(0.25);
  iteration.mutable_phases()->set_pull(0.5);
  iteration.mutable_phases()->set_parked(0.25);
  iteration.mutable_phases()->set_load(0.25);
  iteration.mutable_phases()->set_compute(compute);
  iteration.mutable_phases()->set_push(0.25);
}

TEST(RealTimelineTest, AnIterationEndsWhereItWasReported) {
  v1::ListIterationsResponse listed;
  Add(listed, "w0", 2, 0.25);
  // Parked is waiting, loading is computing.
  EXPECT_EQ(
      RealTimeline(kTwoWorkers, listed, {}),
      Json::parse(R"({"begin": 0.0, "seconds": 2.0, "full": false, "lost": [],)"
                  R"("phases": ["absent", "wait", "pull", "compute", "push"],)"
                  R"("workers": [[0, 500000000, 1, 500000000, 2, 250000000,)"
                  R"(3, 500000000, 4, 250000000], []]})"));
}

TEST(RealTimelineTest, NothingIsInTwoIterationsOfAWorker) {
  v1::ListIterationsResponse listed;
  Add(listed, "w0", 1.5, 0.25);
  // It claims to have begun before the last one ended.
  Add(listed, "w0", 2, 0.25);
  const Json timeline = RealTimeline(kTwoWorkers, listed, {});
  EXPECT_EQ(timeline["workers"][0],
            Json::parse("[1, 500000000, 2, 250000000, 3, 500000000,"
                        " 4, 250000000, 3, 250000000, 4, 250000000]"));
}

TEST(RealTimelineTest, WhatIsKeptBeginsLater) {
  v1::ListIterationsResponse listed;
  for (size_t i = 0; i < kIterationsDrawn; ++i) {
    Add(listed, "w0", 2.0 * static_cast<double>(i + 1), 0.25);
  }
  EXPECT_EQ(RealTimeline(kTwoWorkers, listed, {})["begin"], 0);
  Add(listed, "w1", 2.0 * kIterationsDrawn + 1, 0.25);
  const Json timeline = RealTimeline(kTwoWorkers, listed, {});
  EXPECT_EQ(timeline["begin"], 2.5);
  EXPECT_EQ(timeline["seconds"], 2.0 * kIterationsDrawn + 1);
  // The first of w0 is left out, and all before its second is absence.
  EXPECT_EQ(timeline["workers"][0].size(), 2 * 5 * (kIterationsDrawn - 1));
  EXPECT_EQ(timeline["workers"][0][0], 0);
  EXPECT_EQ(timeline["workers"][0][1], 2'500'000'000);
}

TEST(RealTimelineTest, SaysWhoWasLost) {
  v1::ListIterationsResponse listed;
  Add(listed, "w0", 2, 0.25);
  v1::ListDecisionsResponse decided;
  decided.add_decisions()->set_kind("straggler");
  // Of w1 twice, in two decisions each.
  for (const auto& [worker, seconds] : {std::pair("w1", 1.5),
                                        {"w1", 1.5},
                                        {"w0", 1.75},
                                        {"w1", 9.0},
                                        {"w1", 9.25}}) {
    v1::Decision& lost = *decided.add_decisions();
    lost.set_kind("worker-lost");
    lost.set_worker(worker);
    lost.set_seconds(seconds);
  }
  EXPECT_EQ(RealTimeline(kTwoWorkers, listed, decided)["lost"],
            Json::parse(R"([{"worker": "w1", "seconds": 1.5},)"
                        R"( {"worker": "w0", "seconds": 1.75},)"
                        R"( {"worker": "w1", "seconds": 9.0}])"));
}

TEST(RealTimelineTest, WithoutIterationsThereIsNone) {
  EXPECT_TRUE(RealTimeline(kTwoWorkers, {}, {}).is_null());
  v1::ListIterationsResponse listed;
  Add(listed, "w0", 2, 0.25);
  EXPECT_TRUE(RealTimeline(Json::object(), listed, {}).is_null());
}

TEST(DrawnRealRunTest, HasWhatASimulationHas) {
  const Json run = DrawnRealRun(kTwoWorkers, "bsp, seed 2", nullptr);
  EXPECT_EQ(run["name"], "bsp, seed 2");
  EXPECT_EQ(run["samples_per_second"], 64);
  EXPECT_EQ(run["waiting_share"], 0.2);
  EXPECT_EQ(run["gap"], Json::parse(R"({"max": 2})"));
  EXPECT_EQ(run["staleness"], Json::parse(R"({"max": 5})"));
  // Of a report that another version has made.
  const Json strange = DrawnRealRun({{"seconds", 0}}, "x", nullptr);
  EXPECT_FALSE(strange.contains("samples_per_second"));
  EXPECT_EQ(strange["waiting_share"], 0);
}

TEST(LeftOutTest, NamesThoseWithoutLanes) {
  const Json with = {{"name", "a"}, {"timeline", {{"seconds", 1}}}};
  const Json without = {{"name", "b"}, {"timeline", nullptr}};
  EXPECT_THAT(LeftOutOf({with}),
              AllOf(HasSubstr("gaps and staleness"), Not(HasSubstr("b,"))));
  EXPECT_THAT(LeftOutOf({with, without}),
              HasSubstr("what the workers did in b, of which"));
}

}  // namespace
}  // namespace paceline
