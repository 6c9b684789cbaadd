#include "services/worker/program/program_process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "common/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/test_folder.h"

namespace paceline {
namespace {

using testing::HasSubstr;

constexpr absl::Duration kLong = absl::Seconds(30);

void AwaitFile(const std::string& path) {
  while (access(path.c_str(), F_OK) != 0) {
    absl::Notification().WaitForNotificationWithTimeout(absl::Milliseconds(1));
  }
}

std::unique_ptr<ProgramProcess> RunShell(const std::string& command) {
  auto process = ProgramProcess::Start({command}, "/tmp/a.sock");
  EXPECT_TRUE(process.ok()) << process.status();
  return *std::move(process);
}

std::string EndOf(const std::string& command) {
  const auto process = RunShell(command);
  EXPECT_TRUE(process->AwaitEnd(kLong));
  return process->Describe();
}

TEST(LastLinesTest, KeepsTheLastOnesShort) {
  LastLines lines;
  EXPECT_EQ(lines.Text(), "");
  lines.Add("one\nt");
  EXPECT_EQ(lines.Text(), "one | t");
  lines.Add("wo\n\n  \nthree");
  EXPECT_EQ(lines.Text(), "one | two | three");
  lines.Add("\n4\n5\n6\n7\n" + std::string(1000, 'x') + "\n");
  EXPECT_EQ(lines.Text(), "three | 4 | 5 | 6 | 7 | " + std::string(300, 'x'));
}

TEST(ProgramProcessTest, SaysHowItEndedAndWhatItSaidLast) {
  EXPECT_EQ(EndOf("exit 0"), "exited with 0");
  EXPECT_EQ(EndOf("exit 3"), "exited with 3");
  EXPECT_EQ(EndOf("echo no disk >&2; exit 1"),
            "exited with 1; last lines: no disk");
  EXPECT_EQ(EndOf("kill -KILL $$"), "exited with 137 (killed: out of memory?)");
  EXPECT_EQ(EndOf("exit 137"), "exited with 137 (killed: out of memory?)");
  EXPECT_EQ(EndOf("exit 255"), "exited with 255");
  EXPECT_EQ(EndOf("kill -SEGV $$"), "exited with 139 (Segmentation fault)");
  EXPECT_THAT(EndOf("nonsense-that-is-no-program"),
              HasSubstr("exited with 127"));
}

TEST(ProgramProcessTest, ItsLogKeepsWhatIsThere) {
  const TestFolder folder;
  const std::string log = folder.Path("log");
  for (const char* const word : {"first", "second"}) {
    auto process = ProgramProcess::Start(
        {absl::StrCat("echo ", word, "; echo bad >&2; exit 1"), log},
        "/tmp/a.sock");
    ASSERT_TRUE(process.ok()) << process.status();
    ASSERT_TRUE((*process)->AwaitEnd(kLong));
    EXPECT_EQ((*process)->Describe(), "exited with 1; last lines: bad");
  }
  std::ifstream file(log);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(text, "first\nbad\nsecond\nbad\n");
  EXPECT_TRUE(absl::IsInternal(
      ProgramProcess::Start({"true", "/no/such/folder/log"}, "/tmp/a.sock")
          .status()));
}

TEST(ProgramProcessTest, IsToldWhereItsAgentIs) {
  EXPECT_EQ(EndOf("echo $PACELINE_PROGRAM >&2; exit 1"),
            "exited with 1; last lines: /tmp/a.sock");
}

TEST(ProgramProcessTest, EndsByItself) {
  const auto process = RunShell("exec sleep 0");
  EXPECT_TRUE(
      process->End(Clock::Real().Now() + kLong, kLong, [] { return false; }));
  EXPECT_EQ(process->Describe(), "exited with 0");
}

TEST(ProgramProcessTest, EndsBySigtermAfterItsGrace) {
  const auto process = RunShell("exec sleep 1000");
  EXPECT_FALSE(process->End(Clock::Real().Now() + absl::Milliseconds(50), kLong,
                            [] { return false; }));
  EXPECT_EQ(process->Describe(), "exited with 143 (Terminated)");
}

TEST(ProgramProcessTest, OneThatIsStoppedTakesSigtermAsWell) {
  const auto process = RunShell("kill -STOP $$; exit 3");
  EXPECT_FALSE(process->End(Clock::Real().Now() + absl::Milliseconds(50), kLong,
                            [] { return false; }));
  EXPECT_EQ(process->Describe(), "exited with 143 (Terminated)");
}

TEST(ProgramProcessTest, IsKilledWhenItDoesNotEndOrThereIsNoTime) {
  const TestFolder folder;
  for (const bool hurried : {false, true}) {
    const std::string up = folder.Path(hurried ? "b" : "a");
    const auto process =
        RunShell("trap '' TERM; : > " + up + "; while :; do sleep 0.01; done");
    AwaitFile(up);
    const absl::Duration grace = hurried ? kLong : absl::Milliseconds(50);
    EXPECT_FALSE(process->End(Clock::Real().Now() + grace, grace,
                              [hurried] { return hurried; }));
    EXPECT_EQ(process->Describe(), "exited with 137 (killed by its agent)");
  }
}

TEST(ProgramProcessTest, WhatItHasStartedEndsWithIt) {
  // Orphans come to us, so that we can see them end.
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  const TestFolder folder;
  const std::string file = folder.Path("pid");
  const auto process = RunShell("sleep 1000 & echo $! > " + file + ".new; mv " +
                                file + ".new " + file + "; exit 4");
  EXPECT_TRUE(process->AwaitEnd(kLong));
  std::ifstream in(file);
  pid_t grandchild = 0;
  in >> grandchild;
  ASSERT_GT(grandchild, 0);
  int status = 0;
  ASSERT_EQ(waitpid(grandchild, &status, 0), grandchild);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST(ProgramProcessTest, NobodyIsLeftWhenItIsDropped) {
  const TestFolder folder;
  const std::string up = folder.Path("up");
  {
    const auto process = RunShell(": > " + up + "; exec sleep 1000");
    AwaitFile(up);
  }
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "no child, and no zombie";
}

}  // namespace
}  // namespace paceline
