#include "tests/services/coordinator/policy/sync_core_script.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/services/coordinator/policy/policy_script.h"

namespace paceline {
namespace {

std::vector<std::string> Scripts() {
  std::vector<std::string> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(PACELINE_TESTDATA "/sync_core")) {
    if (entry.path().extension() == ".txt") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

class SyncCoreScriptTest : public testing::TestWithParam<std::string> {};

// Runs each block of a script and compares what the core did with what the
// script says. With PACELINE_REWRITE=1 it rewrites the scripts instead: read
// the diff, and commit it only if you can say why every line changed.
TEST_P(SyncCoreScriptTest, Matches) {
  const bool rewrite = std::getenv("PACELINE_REWRITE") != nullptr;
  SyncCoreScript script;
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
    SyncCore, SyncCoreScriptTest, testing::ValuesIn(Scripts()),
    [](const testing::TestParamInfo<std::string>& script) {
      return std::filesystem::path(script.param).stem().string();
    });

}  // namespace
}  // namespace paceline
