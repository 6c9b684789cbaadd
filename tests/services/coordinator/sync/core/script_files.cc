#include "tests/services/coordinator/sync/core/script_files.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"

namespace paceline {
namespace {

struct ScriptBlock {
  std::string commands;  // With their comments; each line ends with '\n'.
  std::string want;      // Likewise.
};

std::vector<ScriptBlock> ReadBlocks(absl::string_view text) {
  std::vector<ScriptBlock> blocks(1);
  bool in_want = false;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line == "----") {
      in_want = true;
    } else if (line.empty()) {
      in_want = false;
      blocks.emplace_back();
    } else {
      ScriptBlock& block = blocks.back();
      absl::StrAppend(in_want ? &block.want : &block.commands, line, "\n");
    }
  }
  std::erase_if(blocks, [](const ScriptBlock& block) {
    return block.commands.empty() && block.want.empty();
  });
  return blocks;
}

}  // namespace

std::vector<std::string> ScriptsIn(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           absl::StrCat(PACELINE_TESTDATA "/", folder))) {
    if (entry.path().extension() == ".txt") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string ScriptName(const testing::TestParamInfo<std::string>& script) {
  return std::filesystem::path(script.param).stem().string();
}

void CheckScript(const std::string& path,
                 absl::FunctionRef<std::string(const std::string&)> run) {
  const bool rewrite = std::getenv("PACELINE_REWRITE") != nullptr;
  std::ifstream file(path);
  const std::string script{std::istreambuf_iterator<char>(file), {}};
  const std::vector<ScriptBlock> blocks = ReadBlocks(script);
  ASSERT_FALSE(blocks.empty());
  std::string text;
  for (const ScriptBlock& block : blocks) {
    const std::string got = run(block.commands);
    EXPECT_THAT(got, testing::Not(testing::HasSubstr("error:")));
    if (!rewrite) {
      EXPECT_EQ(got, block.want) << block.commands;
    }
    absl::StrAppend(&text, text.empty() ? "" : "\n", block.commands, "----\n",
                    got);
  }
  if (rewrite) std::ofstream(path) << text;
}

}  // namespace paceline
