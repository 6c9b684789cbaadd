#include "tests/services/coordinator/sync/core/sync_core_script.h"

#include <string>

#include "gtest/gtest.h"
#include "tests/services/coordinator/sync/core/script_files.h"

namespace paceline {
namespace {

class SyncCoreScriptTest : public testing::TestWithParam<std::string> {};

TEST_P(SyncCoreScriptTest, Matches) {
  SyncCoreScript script;
  CheckScript(GetParam(), [&script](const std::string& commands) {
    return script.Run(commands);
  });
}

INSTANTIATE_TEST_SUITE_P(SyncCore, SyncCoreScriptTest,
                         testing::ValuesIn(ScriptsIn("sync_core")), ScriptName);

}  // namespace
}  // namespace paceline
