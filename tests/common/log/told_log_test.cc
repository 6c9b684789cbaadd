#include "common/log/told_log.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "common/log/log.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

LogEntry At(int second, std::string message) {
  LogEntry entry;
  entry.time = absl::FromUnixSeconds(second);
  entry.message = std::move(message);
  return entry;
}

std::vector<std::string> MessagesOf(const v1::LogTold& told) {
  std::vector<std::string> messages;
  for (const v1::LogLine& line : told.lines()) {
    messages.push_back(line.message());
  }
  return messages;
}

TEST(TellLogTest, JoinsTheLogsInTheOrderOfTheirTimes) {
  LogRing process;
  LogRing program;
  process.Add(At(1, "a"));
  process.Add(At(3, "c"));
  program.Add(At(2, "b"));
  program.Add(At(4, "d"));
  const std::vector<KeptLog> logs = {{v1::LogLine::PROCESS, &process},
                                     {v1::LogLine::PROGRAM, &program}};
  v1::TellLog question;
  question.set_question(7);
  const v1::LogTold all = TellLog(question, logs);
  EXPECT_EQ(all.question(), 7u);
  EXPECT_THAT(MessagesOf(all), ElementsAre("a", "b", "c", "d"));
  EXPECT_EQ(all.lines(1).source(), v1::LogLine::PROGRAM);
  EXPECT_EQ(all.lines(2).source(), v1::LogLine::PROCESS);
  EXPECT_EQ(all.lines(2).time().seconds(), 3);
  question.set_lines(3);
  EXPECT_THAT(MessagesOf(TellLog(question, logs)), ElementsAre("b", "c", "d"));
  question.set_lines(1);
  EXPECT_THAT(MessagesOf(TellLog(question, logs)), ElementsAre("d"));
  question.set_lines(4'000'000'000);
  EXPECT_THAT(MessagesOf(TellLog(question, logs)),
              ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(TellLog(question, {}).lines(), IsEmpty());
}

// What is logged is kept as the line has it.
TEST(KeepLogLinesTest, TheRingGetsWhatTheLineSays) {
  LogRing ring;
  StartLogging("test");
  LogInfo("before");
  KeepLogLines(&ring);
  const absl::Time began = absl::Now();
  LogInfo("plain");
  LogWarning("with fields",
             {{"job", "namespaces/a/jobs/b"}, {"count", 3}, {"all", {1, 2}}});
  LogError("bad \xff byte");
  KeepLogLines(nullptr);
  LogInfo("behind");
  const v1::LogTold told = TellLog({}, {{v1::LogLine::PROCESS, &ring}});
  EXPECT_THAT(MessagesOf(told),
              ElementsAre("plain", "with fields", "bad \xef\xbf\xbd byte"));
  EXPECT_EQ(told.lines(0).severity(), v1::LogLine::INFO);
  EXPECT_EQ(told.lines(1).severity(), v1::LogLine::WARNING);
  EXPECT_EQ(told.lines(2).severity(), v1::LogLine::ERROR);
  EXPECT_THAT(told.lines(0).fields(), IsEmpty());
  EXPECT_THAT(told.lines(1).fields(),
              UnorderedElementsAre(Pair("job", "namespaces/a/jobs/b"),
                                   Pair("count", "3"), Pair("all", "[1,2]")));
  EXPECT_GE(told.lines(0).time().seconds(), absl::ToUnixSeconds(began));
  // It can travel.
  v1::LogTold read;
  EXPECT_TRUE(read.ParseFromString(told.SerializeAsString()));
}

}  // namespace
}  // namespace paceline
