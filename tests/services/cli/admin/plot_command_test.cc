// What is drawn of jobs, and what is written down for simulations.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/cli/plot/plot_page.h"
#include "tests/common/test_folder.h"
#include "tests/services/cli/admin/fake_cluster.h"
#include "tests/services/cli/admin/run_command.h"
#include "tests/services/cli/admin/samples.h"

namespace paceline {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string Content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class PlotCommandTest : public testing::Test {
 protected:
  PlotCommandTest() {
    command_.environment["PACELINE_ADDRESS"] = cluster_.address();
    cluster_.jobs.onGetJob = [](const auto& request, auto* job) {
      *job = RunningJob();
      job->set_name(request.name());
    };
    cluster_.jobs.onGetJobReport = [](const auto& request,
                                      auto* report) -> absl::Status {
      if (absl::EndsWith(request.name(), "/waits")) {
        return absl::FailedPreconditionError("has not begun to train yet");
      }
      report->set_json(R"({"paradigm": "dssp:lower=3,upper=15", "seconds": 20,
          "accuracy": [{"seconds": 10, "samples": 640, "accuracy": 0.5}],
          "switches": [{"seconds": 5, "to": "cgp:beta=0.9"}],
          "workers": [{"worker": "w0"}, {"worker": "w1"}]})");
      return absl::OkStatus();
    };
    cluster_.jobs.onListDecisions = [](const auto&, auto*) {};
    cluster_.jobs.onListIterations = [](const auto& request, auto* response) {
      const bool second = request.page_token() == "next";
      if (!second) response->set_next_page_token("next");
      v1::Iteration& iteration = *response->add_iterations();
      iteration.set_sequence(second ? 12 : 11);
      iteration.set_worker(second ? "w1" : "w0");
      iteration.set_seconds(second ? 19.5 : 18);
      iteration.set_iteration(6);
      iteration.set_samples(32);
      iteration.mutable_phases()->set_compute(0.25);
      iteration.mutable_phases()->set_pull(0.75);
      iteration.mutable_phases()->set_parked(0.5);
      // One that says nothing of a device.
      v1::Iteration& dropped = *response->add_iterations();
      dropped = iteration;
      dropped.set_discarded(true);
    };
  }

  std::string Path(const std::string& name) const { return folder_.Path(name); }

  FakeCluster cluster_;
  CommandRunner command_;
  const TestFolder folder_;
};

TEST_F(PlotCommandTest, TracesAJob) {
  const auto written =
      command_.Run(absl::StrCat("job trace mnist -o ", Path("times.jsonl")));
  EXPECT_EQ(written.code, 0) << written.err;
  EXPECT_EQ(written.out, "");
  EXPECT_EQ(written.err,
            "paceline: 2 iterations of 2 workers, from 18.0 to 19.5 s of "
            "training; the coordinator keeps no earlier ones\n");
  EXPECT_EQ(Content(Path("times.jsonl")),
            R"({"worker":"w0","iteration":6,"samples":32,"load":0.0,)"
            R"("compute":0.25,"push":0.0,"pull":0.25,"parked":0.5,"wait":0.0})"
            "\n"
            R"({"worker":"w1","iteration":6,"samples":32,"load":0.0,)"
            R"("compute":0.25,"push":0.0,"pull":0.25,"parked":0.5,"wait":0.0})"
            "\n");
  EXPECT_EQ(command_.Run("job trace mnist").out, Content(Path("times.jsonl")));
  const auto unwritable = command_.Run("job trace mnist -o /proc/none/x");
  EXPECT_EQ(unwritable.code, 1);
  EXPECT_THAT(unwritable.err, HasSubstr("cannot write /proc/none/x"));
}

TEST_F(PlotCommandTest, OfNoIterationThereIsNoTrace) {
  cluster_.jobs.onListIterations = [](const auto&, auto*) {};
  const auto none =
      command_.Run(absl::StrCat("job trace mnist -o ", Path("times.jsonl")));
  EXPECT_EQ(none.code, 4);
  EXPECT_THAT(none.err, HasSubstr("job/mnist: the coordinator knows no "
                                  "iteration of it"));
  EXPECT_FALSE(std::filesystem::exists(Path("times.jsonl")));
}

TEST_F(PlotCommandTest, DrawsJobs) {
  if (!PlotPage(Json::object(), {}).ok()) GTEST_SKIP() << "without ECharts";
  const auto drawn = command_.Run(
      absl::StrCat("job plot mnist waits other -o ", Path("page.html")));
  // Of one there is nothing to draw, and the others are drawn all the same.
  EXPECT_EQ(drawn.code, 4);
  EXPECT_THAT(drawn.err, HasSubstr("has not begun to train yet"));
  EXPECT_THAT(drawn.err, HasSubstr(absl::StrCat("wrote ", Path("page.html"))));
  const std::string page = Content(Path("page.html"));
  EXPECT_THAT(page, HasSubstr("paceline job plot mnist waits other"));
  EXPECT_THAT(page, HasSubstr("\"mnist (dssp, then cgp)\""));
  EXPECT_THAT(page, HasSubstr("\"other (dssp, then cgp)\""));
  EXPECT_THAT(page, HasSubstr("\"timeline\":{\"begin\":17.0,"));
  EXPECT_THAT(page, HasSubstr("\"left_out\":\"Left out is how gaps"));
}

TEST_F(PlotCommandTest, DrawsWhatAnOlderCoordinatorKnows) {
  if (!PlotPage(Json::object(), {}).ok()) GTEST_SKIP() << "without ECharts";
  cluster_.jobs.onListIterations = [](const auto&, auto*) {
    return absl::UnimplementedError("");
  };
  const auto drawn = command_.Run(
      absl::StrCat("job metrics mnist --plot ", Path("page.html")));
  EXPECT_EQ(drawn.code, 0) << drawn.err;
  EXPECT_THAT(drawn.out, StartsWith("TIME "));
  const std::string page = Content(Path("page.html"));
  EXPECT_THAT(page, HasSubstr("\"timeline\":null"));
  EXPECT_THAT(page,
              HasSubstr("what the workers did in mnist (dssp, then cgp)"));
}

TEST_F(PlotCommandTest, APageThatCannotBeWrittenIsToldAtOnce) {
  if (!PlotPage(Json::object(), {}).ok()) GTEST_SKIP() << "without ECharts";
  const auto refused = command_.Run("job plot mnist -o /proc/none/page.html");
  EXPECT_EQ(refused.code, 4);
  EXPECT_THAT(refused.err,
              HasSubstr("--out /proc/none/page.html: the file cannot be"));
  EXPECT_THAT(command_.Run("job plot mnist").err, HasSubstr("--out"));
}

}  // namespace
}  // namespace paceline
