// The course of a run, input by input: tests/testdata/course/*.txt.

#include "tests/services/coordinator/run/course/course_script.h"

#include <string>

#include "gtest/gtest.h"
#include "tests/services/coordinator/sync/core/script_files.h"

namespace paceline {
namespace {

class CourseScriptTest : public testing::TestWithParam<std::string> {};

TEST_P(CourseScriptTest, Matches) {
  CourseScript script;
  CheckScript(GetParam(), [&script](const std::string& commands) {
    return script.Run(commands);
  });
}

INSTANTIATE_TEST_SUITE_P(Course, CourseScriptTest,
                         testing::ValuesIn(ScriptsIn("course")), ScriptName);

}  // namespace
}  // namespace paceline
