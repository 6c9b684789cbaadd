#include "tests/services/coordinator/sync/paradigms/policy_script.h"

#include <string>

#include "gtest/gtest.h"
#include "tests/services/coordinator/sync/core/script_files.h"

namespace paceline {
namespace {

class PolicyScriptTest : public testing::TestWithParam<std::string> {};

TEST_P(PolicyScriptTest, Matches) {
  PolicyScript script;
  CheckScript(GetParam(), [&script](const std::string& commands) {
    return script.Run(commands);
  });
}

INSTANTIATE_TEST_SUITE_P(Policies, PolicyScriptTest,
                         testing::ValuesIn(ScriptsIn("policies")), ScriptName);

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
