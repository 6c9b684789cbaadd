#include "services/cli/program_environment.h"

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/test_folder.h"

namespace paceline {
namespace {

using testing::Contains;
using testing::Key;
using testing::Not;
using testing::Pair;
using testing::UnorderedElementsAre;

Environment EnvironmentOf(const ProgramPlace& place,
                          const Environment& inherited = {}) {
  return ProgramEnvironment(place, [&](const char* name) -> const char* {
    const auto it = inherited.find(name);
    return it == inherited.end() ? nullptr : it->second.c_str();
  });
}

TEST(ProgramEnvironmentTest, OneThreadUnlessSomebodyAsked) {
  EXPECT_THAT(EnvironmentOf({}),
              UnorderedElementsAre(Pair("OMP_NUM_THREADS", "1"),
                                   Pair("PYTHONUNBUFFERED", "1")));
  EXPECT_THAT(EnvironmentOf({}, {{"OMP_NUM_THREADS", "6"}}),
              Not(Contains(Key("OMP_NUM_THREADS"))))
      << "the user's own stays";
  EXPECT_THAT(EnvironmentOf({.threads = 2}, {{"OMP_NUM_THREADS", "6"}}),
              Contains(Pair("OMP_NUM_THREADS", "2")));
}

TEST(ProgramEnvironmentTest, AProgramSeesTheCardThatItIsGiven) {
  struct Case {
    const char* device;
    const char* visible;
    std::optional<std::string> wanted;
  };
  const Case kCases[] = {
      {"auto", "2,3", std::nullopt},
      {"cuda", "", std::nullopt},
      {"cpu", "2,3", ""},
      {"cuda:1", "", "1"},
      {"cuda:1", "2,3", "3"},
      {"cuda:0", "GPU-7c1e", "GPU-7c1e"},
      {"cuda:7", "2,3", "7"},
      {"cuda:0,cuda:1", "", "0,1"},
      {"cuda:1,cuda:0", "2,3", "3,2"},
      {"cpu,cpu", "2,3", ""},
  };
  for (const auto& [device, visible, wanted] : kCases) {
    const Environment environment =
        EnvironmentOf({.device = device}, {{"CUDA_VISIBLE_DEVICES", visible}});
    const auto it = environment.find("CUDA_VISIBLE_DEVICES");
    EXPECT_EQ(
        it == environment.end() ? std::nullopt : std::optional(it->second),
        wanted)
        << device << " of " << visible;
  }
}

TEST(ProgramEnvironmentTest, ThePackageIsFoundBehindTheUsersOwn) {
  const ProgramPlace place = {.python_folder = "/tree/python"};
  EXPECT_THAT(EnvironmentOf(place),
              Contains(Pair("PYTHONPATH", "/tree/python")));
  EXPECT_THAT(EnvironmentOf(place, {{"PYTHONPATH", "/mine"}}),
              Contains(Pair("PYTHONPATH", "/mine:/tree/python")));
  EXPECT_THAT(EnvironmentOf(place, {{"PYTHONPATH", "/tree/python:/mine"}}),
              Contains(Pair("PYTHONPATH", "/tree/python:/mine")));
  EXPECT_THAT(EnvironmentOf({}, {{"PYTHONPATH", "/mine"}}),
              Not(Contains(Key("PYTHONPATH"))));
}

TEST(ProgramEnvironmentTest, ThePackageLiesInTheTreeOfTheBuild) {
  const TestFolder tree;
  const std::string bin = tree.Path("build/release/bin");
  std::filesystem::create_directories(bin);
  EXPECT_EQ(PythonFolderOf(bin), "");
  const std::string python = tree.Path("services/worker/python");
  std::filesystem::create_directories(python + "/paceline");
  std::ofstream(python + "/paceline/__init__.py").put('\n');
  EXPECT_EQ(PythonFolderOf(bin), std::filesystem::canonical(python));
  EXPECT_EQ(PythonFolderOf("/no/such/folder"), "");
}

}  // namespace
}  // namespace paceline
