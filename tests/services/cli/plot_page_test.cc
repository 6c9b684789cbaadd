#include "services/cli/plot/plot_page.h"

#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/cli/simulation_report.h"
#include "services/simulator/virtual_cluster.h"

namespace paceline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr absl::string_view kPieces[] = {"var ech", "arts = {};"};
constexpr absl::string_view kNothing[] = {""};

std::string Page(const Json& document, absl::string_view command = "x") {
  const absl::StatusOr<std::string> page = PlotPage(
      document, {.heading = "paceline", .command = std::string(command)},
      kPieces);
  EXPECT_TRUE(page.ok()) << page.status();
  return page.value_or("");
}

// What the page's script finds.
Json DataOf(const std::string& page) {
  const std::string before = "id=\"data\">";
  const size_t begin = page.find(before) + before.size();
  const size_t end = page.find("</script>", begin);
  return Json::parse(page.substr(begin, end - begin));
}

size_t Count(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

// A run of so many equal workers that end at so many spans.
Json RunOf(size_t workers, const std::string& paradigm, size_t spans_max) {
  ClusterSpec spec;
  for (size_t i = 0; i < workers; ++i) {
    WorkerSpec worker;
    worker.name = absl::StrCat("worker-", i);
    worker.device.jitter = {.kind = Jitter::Kind::kNormal, .spread = 0.1};
    spec.workers.push_back(worker);
  }
  spec.run.batch_size = 8;
  spec.train_samples = static_cast<uint32_t>(8 * workers * 30);
  Timeline timeline(workers, spans_max);
  spec.run.paradigm = *ParseParadigm(paradigm);
  const SimulationResult result = VirtualCluster(&spec, {&timeline}).Run();
  Json run = SimulationRun(result);
  run["timeline"] = TimelineJson(timeline);
  run["gap_histogram"] = HistogramJson(result.gap);
  run["staleness_histogram"] = HistogramJson(result.staleness);
  return run;
}

TEST(PlotPageTest, SaysWhatIsMissing) {
  const absl::Status status = PlotPage(Json::object(), {}, kNothing).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("npm"), HasSubstr("-DPACELINE_ECHARTS=")));
}

TEST(PlotPageTest, EverythingIsInIt) {
  const std::string page = Page(Json::object());
  EXPECT_THAT(page, AllOf(HasSubstr("var echarts = {};"),
                          HasSubstr("prefers-color-scheme: dark"),
                          HasSubstr("function showTimeline(")));
  EXPECT_THAT(page, Not(HasSubstr("{{")));
  // Nothing is loaded, and nothing could be.
  EXPECT_THAT(page, AllOf(Not(HasSubstr("src=")), Not(HasSubstr("href=")),
                          Not(HasSubstr("@import")), Not(HasSubstr("url("))));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_EQ(DataOf(page), Json::parse(R"({"runs":[]})"));
}

TEST(PlotPageTest, TheCommandIsShownAsItWasTyped) {
  const std::string page = Page(Json::object(), "--trace a&b<c>{{data}}\".txt");
  EXPECT_EQ(Count(page, "--trace a&amp;b&lt;c&gt;{{data}}&quot;.txt"), 2);
}

TEST(PlotPageTest, NoNameEndsTheScript) {
  Json run = {
      {"paradigm", "</script><script>alert(1)</script>"},
      {"workers", {{{"worker", "<!--<script>"}}, {{"worker", "\xff"}}}}};
  const std::string page = Page({{"runs", {run}}});
  EXPECT_EQ(Count(page, "</script>"), 3);
  EXPECT_EQ(Count(page, "<!--<script>"), 0);
  const Json shown = DataOf(page)["runs"][0];
  EXPECT_EQ(shown["paradigm"], run["paradigm"]);
  EXPECT_EQ(shown["workers"], Json::parse(R"(["<!--<script>", "\ufffd"])"));
}

TEST(PlotPageTest, WhatIsNoNumberIsNull) {
  Json run = {{"paradigm", "bsp"},
              {"seconds", std::numeric_limits<double>::infinity()},
              {"waiting_share", std::nan("")},
              {"seconds_to_target", nullptr}};
  const Json shown = DataOf(Page({{"runs", {run}}}))["runs"][0];
  EXPECT_TRUE(shown["seconds"].is_null());
  EXPECT_TRUE(shown["waiting_share"].is_null());
  EXPECT_TRUE(shown["seconds_to_target"].is_null());
}

TEST(PlotPageTest, KeepsWhatItShows) {
  const Json run = RunOf(2, "bsp", 1000);
  const Json shown = DataOf(Page({{"runs", {run}}}))["runs"][0];
  for (const char* name : {"paradigm", "seconds", "updates", "waiting_share",
                           "staleness", "timeline", "gap_histogram"}) {
    EXPECT_EQ(shown[name], run[name]) << name;
  }
  EXPECT_EQ(shown["workers"], Json::parse(R"(["worker-0","worker-1"])"));
  EXPECT_FALSE(shown.contains("push_bytes"));
}

TEST(PlotPageTest, AThousandWorkersMakeNoHugePage) {
  const Json run = RunOf(1000, "asp", 20'000);
  EXPECT_TRUE(run["timeline"]["full"]);
  EXPECT_LT(Page({{"runs", {run}}}).size(), 1 << 20);
}

TEST(PlotPageTest, TheRealScriptDoesNotEndItsElement) {
  const absl::StatusOr<std::string> page = PlotPage(Json::object(), {});
  if (!page.ok()) GTEST_SKIP() << page.status().message();
  EXPECT_EQ(Count(*page, "</script"), 3);
  EXPECT_EQ(Count(*page, "<script"), 3);
  EXPECT_GT(page->size(), 500'000);
}

TEST(RunFieldsTest, AHistogramIsPairs) {
  IntHistogram histogram;
  histogram.Add(7);
  histogram.Add(0, 3);
  EXPECT_EQ(HistogramJson(histogram), Json::parse("[[0,3],[7,1]]"));
  EXPECT_EQ(HistogramJson(IntHistogram()), Json::array());
}

TEST(RunFieldsTest, ATimelineIsPhasesAndNanoseconds) {
  Timeline timeline(2, 2);
  timeline.Joined(0, WorkerId{0}, 0);
  timeline.Joined(3, WorkerId{1}, 1);
  Grant grant;
  grant.worker = WorkerId{0};
  timeline.IterationOver(
      20, grant,
      {.granted = 1, .began = 3, .ended = 10, .planned = 10, .reported = 18});
  EXPECT_EQ(TimelineJson(timeline),
            Json::parse(R"({"seconds":2e-8,"full":true,)"
                        R"("phases":["absent","wait","pull","compute","push"],)"
                        R"("workers":[[1,1,2,2,3,7,4,8],[0,3]]})"));
}

}  // namespace
}  // namespace paceline
