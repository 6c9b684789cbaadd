#include "services/coordinator/control/job_report.h"

#include <nlohmann/json.hpp>
#include <string>

#include "gtest/gtest.h"

namespace paceline {
namespace {

using Json = nlohmann::json;

Json Worker(const std::string& name, int iterations, int most) {
  return {{"worker", name},
          {"iterations", iterations},
          {"samples", 10 * iterations},
          {"samples_discarded", 0},
          {"seconds",
           {{"load", 0.5},
            {"compute", 1.0},
            {"push", 0.0},
            {"wait", 0.25},
            {"pull", 0.0}}},
          {"longest_wait_seconds", 0.125 * most},
          {"held", 1},
          {"held_not_fastest", 0},
          {"gap", {{"p50", most - 1}, {"p99", most}, {"max", most}}},
          {"staleness", {{"p50", 0}, {"p99", 1}, {"max", 1}}}};
}

Json Point(double seconds, double accuracy) {
  return {{"seconds", seconds}, {"accuracy", accuracy}, {"loss", 1.5}};
}

Json Report(const std::string& paradigm) {
  return {{"paradigm", paradigm},
          {"seconds", 10.0},
          {"final_accuracy", nullptr},
          {"final_metrics", Json::object()},
          {"target", "accuracy >= 0.9"},
          {"seconds_to_target", nullptr},
          {"samples", 100},
          {"pushes", 10},
          {"discarded", 1},
          {"refused_blocks", 0},
          {"push_bytes", 1000},
          {"pull_bytes", 500},
          {"accuracy", Json::array()},
          {"switches", Json::array()},
          {"workers", Json::array()}};
}

Json Merge(const Json& before, const Json& after, double began) {
  return Json::parse(MergeReports(before.dump(), after.dump(), began));
}

TEST(MergeReportsTest, TheCurveAndTheSwitchesGoOn) {
  Json before = Report("bsp");
  before["accuracy"] = Json::array({Point(2, 0.5), Point(5, 0.75)});
  before["switches"] = Json::array({{{"seconds", 3.0}, {"to", "asp"}}});
  Json after = Report("asp");
  after["accuracy"] = Json::array({Point(8, 0.875)});
  after["switches"] = Json::array({{{"seconds", 7.0}, {"to", "cgp"}}});
  after["final_accuracy"] = 0.875;
  Json merged = Merge(before, after, 6);
  EXPECT_EQ(merged["paradigm"], "bsp");
  EXPECT_EQ(merged["accuracy"],
            Json::array({Point(2, 0.5), Point(5, 0.75), Point(8, 0.875)}));
  ASSERT_EQ(merged["switches"].size(), 2);
  EXPECT_EQ(merged["switches"][0]["to"], "asp");
  EXPECT_EQ(merged["switches"][1]["to"], "cgp");
  EXPECT_EQ(merged["final_accuracy"], 0.875);
  // These are the course's, not the run's.
  EXPECT_EQ(merged["samples"], 100);
  EXPECT_EQ(merged["pushes"], 20);
  EXPECT_EQ(merged["discarded"], 2);
  EXPECT_EQ(merged["push_bytes"], 2000);
  EXPECT_EQ(merged["pull_bytes"], 1000);
}

TEST(MergeReportsTest, WhatTheJobWentBackFromIsLeftOut) {
  Json before = Report("bsp");
  before["accuracy"] = Json::array({Point(2, 0.5), Point(5, 0.9)});
  before["seconds_to_target"] = 5.0;
  before["final_accuracy"] = 0.9;
  before["final_metrics"] = {{"accuracy", 0.9}};
  Json merged = Merge(before, Report("bsp"), 3);
  EXPECT_EQ(merged["accuracy"], Json::array({Point(2, 0.5)}));
  EXPECT_EQ(merged["seconds_to_target"], nullptr);
  EXPECT_EQ(merged["final_accuracy"], nullptr);
}

TEST(MergeReportsTest, WithoutANewEvaluationTheLastOneIsTheResult) {
  Json before = Report("bsp");
  before["accuracy"] = Json::array({Point(5, 0.9)});
  before["seconds_to_target"] = 5.0;
  before["final_accuracy"] = 0.9;
  before["final_metrics"] = {{"accuracy", 0.9}};
  Json merged = Merge(before, Report("bsp"), 6);
  EXPECT_EQ(merged["final_accuracy"], 0.9);
  EXPECT_EQ(merged["final_metrics"], Json({{"accuracy", 0.9}}));
  EXPECT_EQ(merged["seconds_to_target"], 5.0);
  Json other = Report("bsp");
  other["target"] = "accuracy >= 0.99";
  EXPECT_EQ(Merge(before, other, 6)["seconds_to_target"], nullptr);
}

TEST(MergeReportsTest, WorkersAreAddedUpByName) {
  Json before = Report("bsp");
  before["workers"] = Json::array({Worker("w0", 4, 5), Worker("w2", 3, 2)});
  Json after = Report("bsp");
  after["workers"] =
      Json::array({Worker("w0", 6, 3), Worker("w1", 1, 1), Worker("w2", 0, 0)});
  Json workers = Merge(before, after, 1)["workers"];
  ASSERT_EQ(workers.size(), 3);
  EXPECT_EQ(workers[0]["worker"], "w0");
  EXPECT_EQ(workers[0]["iterations"], 10);
  EXPECT_EQ(workers[0]["samples"], 100);
  EXPECT_EQ(workers[0]["seconds"]["compute"], 2.0);
  EXPECT_EQ(workers[0]["seconds"]["wait"], 0.5);
  EXPECT_EQ(workers[0]["longest_wait_seconds"], 0.625);
  EXPECT_EQ(workers[0]["gap"], Json({{"p50", 2}, {"p99", 3}, {"max", 5}}));
  EXPECT_EQ(workers[1], after["workers"][1]);
  // It has not trained in the last run.
  EXPECT_EQ(workers[2]["iterations"], 3);
  EXPECT_EQ(workers[2]["gap"], Json({{"p50", 1}, {"p99", 2}, {"max", 2}}));
}

TEST(MergeReportsTest, WhoseBeginsAnewOrWhatIsNoDocumentIsLeftOut) {
  const std::string after = Report("asp").dump();
  EXPECT_EQ(MergeReports("", after, 3), after);
  EXPECT_EQ(MergeReports(Report("bsp").dump(), after, 0), after);
  EXPECT_EQ(MergeReports("{", after, 3), after);
  EXPECT_EQ(MergeReports("{\"paradigm\": 3}", after, 3), after);
}

}  // namespace
}  // namespace paceline
