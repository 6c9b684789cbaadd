#include "tests/services/coordinator/sync/core/script_files.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "tests/common/test_paths.h"

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
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(TestDataPath(folder))) {
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

void ExecuteCommands(absl::string_view commands,
                     absl::FunctionRef<absl::Status(Words)> execute,
                     std::string& text) {
  for (const absl::string_view line :
       absl::StrSplit(commands, '\n', absl::SkipWhitespace())) {
    if (absl::StartsWith(line, "#")) continue;
    const absl::Status status =
        execute(absl::StrSplit(line, ' ', absl::SkipEmpty()));
    if (status.ok()) continue;
    absl::StrAppend(&text, "error: ", line, ": ", status.message(), "\n");
  }
}

absl::Status Malformed(absl::string_view word) {
  return absl::InvalidArgumentError(absl::StrCat("what is \"", word, "\"?"));
}

absl::string_view Take(absl::string_view key, absl::string_view fallback,
                       Words& words) {
  for (auto it = words.begin(); it != words.end(); ++it) {
    absl::string_view value = *it;
    if (absl::ConsumePrefix(&value, key) && absl::ConsumePrefix(&value, "=")) {
      words.erase(it);
      return value;
    }
  }
  return fallback;
}

absl::Status ReadNumbers(
    const Words& words,
    const std::map<absl::string_view, std::vector<int64_t*>>& targets) {
  for (const absl::string_view word : words) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(word, absl::MaxSplits('=', 1));
    const auto target = targets.find(pair.first);
    if (target == targets.end()) return Malformed(word);
    const std::vector<absl::string_view> numbers =
        absl::StrSplit(pair.second.empty() ? "1" : pair.second, '/');
    if (numbers.size() != target->second.size()) return Malformed(word);
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (!absl::SimpleAtoi(numbers[i], target->second[i])) {
        return Malformed(word);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace paceline
