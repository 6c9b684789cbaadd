// What finished runs have left in their folder.

#include "services/cli/ui/finished_runs.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/test_folder.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kResult[] =
    R"({"paradigm": "bsp", "seconds": 2.5, "samples": 64,
        "final_accuracy": null, "workers": [{}, {}]})";

class FinishedRunsTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = folder() + "/" + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    const Json listed = runs_.List();
    for (const Json& run : listed["runs"]) {
      names.push_back(TextField(run, "name"));
    }
    return names;
  }
  std::string folder() const { return folder_.path(); }

  TestFolder folder_;
  FinishedRuns runs_{folder_.path()};
};

TEST_F(FinishedRunsTest, ListsThoseThatHaveEnded) {
  EXPECT_THAT(Names(), IsEmpty());
  Write("1-bsp/result.json", kResult);
  Write("20261127-1/2-cgp/result.json", kResult);
  Write("2-runs-still/job.json", "{}");
  Write("3-broken/result.json", "{");
  Write("a/b/c/result.json", kResult);
  EXPECT_THAT(Names(), ElementsAre("1-bsp", "20261127-1/2-cgp"));
  const Json run = runs_.List()["runs"][0];
  EXPECT_EQ(run["seconds"], 2.5);
  EXPECT_EQ(run["workers"], 2);
  EXPECT_FALSE(run.contains("accuracy"));
}

TEST_F(FinishedRunsTest, SeesThatARunWasDoneAgain) {
  Write("1-bsp/result.json", kResult);
  ASSERT_THAT(Names(), ElementsAre("1-bsp"));
  const auto file = folder() + "/1-bsp/result.json";
  const auto before = std::filesystem::last_write_time(file);
  Write("1-bsp/result.json", R"({"paradigm": "cgp"})");
  std::filesystem::last_write_time(file, before + std::chrono::seconds(1));
  EXPECT_EQ(runs_.List()["runs"][0]["paradigm"], "cgp");
  std::filesystem::remove(file);
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(FinishedRunsTest, GivesWhatIsListedAndNothingElse) {
  Write("runs/1-bsp/result.json", kResult);
  Write("runs/1-bsp/job.json", R"({"model": "mlp"})");
  Write("result.json", R"({"secret": true})");
  std::filesystem::create_directory_symlink(folder(), folder() + "/runs/up");
  FinishedRuns runs(folder() + "/runs");
  const absl::StatusOr<Json> run = runs.Get("1-bsp");
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ((*run)["report"]["samples"], 64);
  EXPECT_EQ((*run)["spec"]["model"], "mlp");
  for (const char* name :
       {"", ".", "..", "up", "1-bsp/", "1-bsp/../1-bsp", "/"}) {
    EXPECT_EQ(runs.Get(name).status().code(), absl::StatusCode::kNotFound)
        << name;
  }
}

}  // namespace
}  // namespace paceline
