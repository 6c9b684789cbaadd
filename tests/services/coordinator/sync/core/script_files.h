#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_SCRIPT_FILES_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_SCRIPT_FILES_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
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

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_SCRIPT_FILES_H_
