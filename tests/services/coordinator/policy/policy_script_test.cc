#include "tests/services/coordinator/policy/policy_script.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

std::vector<std::string> Scripts() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           PACELINE_TESTDATA "/policies")) {
    if (entry.path().extension() == ".txt") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

class PolicyScriptTest : public testing::TestWithParam<std::string> {};

// Runs each block of a script and compares what the policy did with what the
// script says. With PACELINE_REWRITE=1 it rewrites the scripts instead: read
// the diff, and commit it only if you can say why every line changed.
TEST_P(PolicyScriptTest, Matches) {
  const bool rewrite = std::getenv("PACELINE_REWRITE") != nullptr;
  PolicyScript script;
  std::string text;
  const std::vector<ScriptBlock> blocks = ReadBlocks(ReadFile(GetParam()));
  ASSERT_FALSE(blocks.empty());
  for (const ScriptBlock& block : blocks) {
    const std::string got = script.Run(block.commands);
    EXPECT_THAT(got, testing::Not(testing::HasSubstr("error:")));
    if (!rewrite) {
      EXPECT_EQ(got, block.want) << block.commands;
    }
    absl::StrAppend(&text, text.empty() ? "" : "\n", block.commands, "----\n",
                    got);
  }
  if (rewrite) std::ofstream(GetParam()) << text;
}

INSTANTIATE_TEST_SUITE_P(
    Policies, PolicyScriptTest, testing::ValuesIn(Scripts()),
    [](const testing::TestParamInfo<std::string>& script) {
      return std::filesystem::path(script.param).stem().string();
    });

TEST(PolicyScriptErrorTest, AMalformedCommandIsNotOverlooked) {
  PolicyScript script;
  EXPECT_EQ(script.Run("push w0\n"), "error: push w0: no policy yet\n");
  EXPECT_EQ(script.Run("policy bsp\nadopt w0 w1\nat 2s push w0\n"),
            "0 release w0 into round 1\n0 release w1 into round 1\n"
            "2s w0: waits for round 2: 1 member is still awaited\n");
  EXPECT_EQ(script.Run("pull w1\nat 1s push w1\npush w0\nresume w1\n"
                       "join w1\nleave w2\npush 1\nat soon push w1\n"),
            "error: pull w1: no such event\n"
            "error: at 1s push w1: this is past\n"
            "error: push w0: does not fit what the worker does\n"
            "error: resume w1: does not fit what the worker does\n"
            "error: join w1: is a member already\n"
            "error: leave w2: is no member\n"
            "error: push 1: no worker\n"
            "error: at soon push w1: no time\n");
}

}  // namespace
}  // namespace paceline
