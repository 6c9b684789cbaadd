#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_SCRIPT_FILES_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_SCRIPT_FILES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace paceline {

// All .txt files below a folder of the test data, sorted.
std::vector<std::string> ScriptsIn(const std::string& folder);

// Of a test of one script.
std::string ScriptName(const testing::TestParamInfo<std::string>& script);

// A script consists of blocks: commands, a line "----", what must come of them,
// and an empty line or the end. Gives the commands of each block to `run` and
// compares. With PACELINE_REWRITE=1 it rewrites the script instead: read the
// diff, and commit it only if you can say why every line changed.
void CheckScript(const std::string& path,
                 absl::FunctionRef<std::string(const std::string&)> run);

// What a command consists of.
using Words = std::vector<absl::string_view>;

// Executes commands, one a line; lines that begin with '#' are comments. What
// `execute` refuses is appended to `text` as a line that begins with "error:".
void ExecuteCommands(absl::string_view commands,
                     absl::FunctionRef<absl::Status(Words)> execute,
                     std::string& text);

// INVALID_ARGUMENT: what is that word?
absl::Status Malformed(absl::string_view word);

// Takes "KEY=VALUE" out of `words`.
absl::string_view Take(absl::string_view key, absl::string_view fallback,
                       Words& words);

// Reads "KEY=NUMBER" words into `targets` and "KEY=K/N" into two of them, and
// "KEY" alone as 1. Other words are malformed.
absl::Status ReadNumbers(
    const Words& words,
    const std::map<absl::string_view, std::vector<int64_t*>>& targets);

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_SCRIPT_FILES_H_
