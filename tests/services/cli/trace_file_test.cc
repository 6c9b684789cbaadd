#include "services/cli/trace_file.h"

#include <sstream>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

TEST(TraceFileTest, KeepsEachWorkersOrder) {
  std::istringstream lines(
      R"({"worker":"w10","compute":0.5})"
      "\n\n"
      R"({"worker":"w2","compute":0.0203,"push":0.001,"pull":0,"samples":16})"
      "\n"
      R"({"worker":"w2","compute":0.03,"wait":7})"
      "\r\n");
  const auto workers = ReadTrace(lines, 32);
  ASSERT_TRUE(workers.ok()) << workers.status();
  ASSERT_THAT(*workers, SizeIs(2));
  EXPECT_EQ((*workers)[0].name, "w2");
  EXPECT_EQ((*workers)[1].name, "w10");
  const auto& iterations = *(*workers)[0].iterations;
  ASSERT_THAT(iterations, SizeIs(2));
  EXPECT_EQ(iterations[0].compute, 20'300'000);
  EXPECT_EQ(iterations[0].push, 1'000'000);
  EXPECT_EQ(iterations[0].pull, 0);
  EXPECT_EQ(iterations[0].samples, 16u);
  EXPECT_EQ(iterations[1].samples, 32u);
  EXPECT_FALSE(iterations[1].push.has_value());
}

// As the coordinator records a job of programs: any number of samples, any
// names, and a loader that does all the work.
TEST(TraceFileTest, ReadsWhatProgramsDid) {
  std::istringstream lines(
      R"({"worker":"gpu-node-3.train","iteration":1,"samples":96,)"
      R"("load":0.25,"compute":0.0,"push":0.5,"pull":0.125,"parked":0,"wait":0})"
      "\n"
      R"({"worker":"gpu-node-3.train","iteration":2,"samples":7,)"
      R"("load":0.0,"compute":0.5,"push":0.5,"pull":0.125,"parked":0,"wait":0})"
      "\n");
  const auto workers = ReadTrace(lines, 32);
  ASSERT_TRUE(workers.ok()) << workers.status();
  ASSERT_THAT(*workers, SizeIs(1));
  EXPECT_EQ((*workers)[0].name, "gpu-node-3.train");
  const auto& iterations = *(*workers)[0].iterations;
  ASSERT_THAT(iterations, SizeIs(2));
  EXPECT_EQ(iterations[0].compute, 250'000'000);
  EXPECT_EQ(iterations[0].samples, 96u);
  EXPECT_EQ(iterations[1].compute, 500'000'000);
  EXPECT_EQ(iterations[1].samples, 7u);
}

TEST(TraceFileTest, NamesTheLineThatIsWrong) {
  const std::pair<const char*, const char*> kCases[] = {
      {"", "no iteration is in it"},
      {"\n\n", "no iteration is in it"},
      {"{\"worker\":\"a\",\"compute\":1}\nnot json\n", "line 2: no JSON"},
      {"[1]", "line 1: no JSON object"},
      {R"({"worker":3,"compute":1})", "line 1: no JSON object"},
      {R"({"worker":"a"})", "line 1: compute, above 0, is missing"},
      {R"({"worker":"a","compute":0})", "compute, above 0, is missing"},
      {R"({"worker":"a","load":1})", "compute, above 0, is missing"},
      {R"({"worker":"a","compute":-1})", "compute must be from 0 to 3600"},
      {R"({"worker":"a","compute":1e9})", "compute must be from 0 to 3600"},
      {R"({"worker":"a","compute":1,"push":-1})", "push must be from 0"},
      {R"({"worker":"a","compute":1,"samples":0})",
       "samples must be a whole number from 1"},
      {R"({"worker":"a","compute":1,"samples":"x"})", "samples must be"},
  };
  for (const auto& [text, message] : kCases) {
    std::istringstream lines(text);
    const absl::Status status = ReadTrace(lines, 32).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message)) << text;
  }
}

}  // namespace
}  // namespace paceline
