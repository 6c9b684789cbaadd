#include "services/cli/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "common/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/cli/run_files.h"
#include "tests/common/test_folder.h"

namespace paceline {
namespace {

using testing::HasSubstr;

ChildSpec Shell(const std::string& script) {
  return {.name = "child",
          .argv = {"/bin/sh", "-c", script},
          .log_path = "/dev/null",
          .capture_stdout = true};
}

ChildProcess StartShell(const std::string& script) {
  absl::StatusOr<ChildProcess> child = ChildProcess::Start(Shell(script));
  EXPECT_TRUE(child.ok()) << child.status();
  return *std::move(child);
}

// Waits until it has ended; the test's own time limit is the bound.
ExitCause Await(ChildProcess& child) {
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(child.pid()), &info, WEXITED | WNOWAIT);
  return child.Poll().value_or(ExitCause{.exit_code = -1});
}

// Waits until the child prints a line, and returns it.
std::string AwaitLine(const ChildProcess& child) {
  LineReader reader(child.stdout_fd());
  while (true) {
    pollfd input = {child.stdout_fd(), POLLIN, 0};
    poll(&input, 1, -1);
    const std::vector<std::string> lines = reader.Read();
    if (!lines.empty()) return lines[0];
    if (reader.at_end()) return "";
  }
}

TEST(ChildProcessTest, TellsHowAProcessEnded) {
  ChildProcess failing = StartShell("exit 7");
  const ExitCause code = Await(failing);
  EXPECT_EQ(code.exit_code, 7);
  EXPECT_EQ(code.Describe(), "exit code 7");
  EXPECT_FALSE(code.clean());
  EXPECT_FALSE(failing.running());
  EXPECT_FALSE(failing.Poll().has_value()) << "an end is told once";

  ChildProcess killed = StartShell("kill -KILL $$");
  EXPECT_EQ(Await(killed).Describe(), "killed by signal 9 (Killed)");

  ChildProcess good = StartShell("true");
  EXPECT_TRUE(Await(good).clean());
}

TEST(ChildProcessTest, SleepRunsUntilItIsSignalled) {
  ChildProcess child = StartShell("exec sleep 1000");
  EXPECT_TRUE(child.running());
  EXPECT_FALSE(child.Poll().has_value());
  child.Signal(SIGTERM);
  EXPECT_EQ(Await(child).signal, SIGTERM);
}

TEST(ChildProcessTest, HasItsOwnGroupAndDefaultSignals) {
  sigset_t blocked, previous;
  sigfillset(&blocked);
  sigprocmask(SIG_BLOCK, &blocked, &previous);
  signal(SIGPIPE, SIG_IGN);
  ChildProcess child = StartShell(
      "grep -E '^Sig(Blk|Ign)' /proc/self/status | tr '\\n\\t' '  '; echo; "
      "exec sleep 1000");
  signal(SIGPIPE, SIG_DFL);
  sigprocmask(SIG_SETMASK, &previous, nullptr);
  EXPECT_EQ(getpgid(child.pid()), child.pid());
  EXPECT_EQ(AwaitLine(child),
            "SigBlk: 0000000000000000 SigIgn: 0000000000000000 ");
}

TEST(ChildProcessTest, DestructorKillsWhatIgnoresEverything) {
  pid_t pid = -1;
  {
    ChildProcess child =
        StartShell("trap '' TERM INT HUP; echo up; exec sleep 1000");
    EXPECT_EQ(AwaitLine(child), "up");
    child.Signal(SIGTERM);
    EXPECT_FALSE(child.Poll().has_value());
    pid = child.pid();
  }
  EXPECT_EQ(kill(pid, 0), -1) << "gone, and reaped";
}

TEST(ChildProcessTest, WhatItStartedItselfEndsWithIt) {
  // Orphans come to us, so that we can see them end.
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  ChildProcess child = StartShell("sleep 1000 & echo $!; exit 3");
  const pid_t grandchild = std::stoi(AwaitLine(child));
  EXPECT_EQ(Await(child).exit_code, 3);
  int status = 0;
  ASSERT_EQ(waitpid(grandchild, &status, 0), grandchild);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST(ChildProcessTest, DiesWithTheProcessThatStartedIt) {
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    ChildProcess child = StartShell("exec sleep 1000");
    const pid_t pid = child.pid();
    if (write(ends[1], &pid, sizeof(pid)) < 0) _exit(1);
    pause();
    _exit(0);
  }
  pid_t grandchild = -1;
  ASSERT_EQ(read(ends[0], &grandchild, sizeof(grandchild)),
            static_cast<ssize_t>(sizeof(grandchild)));
  close(ends[0]);
  close(ends[1]);
  ASSERT_EQ(kill(parent, SIGKILL), 0);
  ASSERT_EQ(waitpid(parent, nullptr, 0), parent);
  int status = 0;
  ASSERT_EQ(waitpid(grandchild, &status, 0), grandchild);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST(ChildProcessTest, SaysWhenAProgramCannotBeExecuted) {
  ChildSpec spec = Shell("");
  spec.argv = {"/nowhere/paceline-worker"};
  const absl::Status status = ChildProcess::Start(spec).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("cannot execute /nowhere/paceline-worker: No such"));
}

TEST(ChildProcessTest, SaysWhenTheLogCannotBeOpened) {
  ChildSpec spec = Shell("");
  spec.log_path = "/nowhere/child.log";
  EXPECT_TRUE(absl::IsInternal(ChildProcess::Start(spec).status()));
}

TEST(ChildProcessTest, MovesItsProcessAlong) {
  ChildProcess first = StartShell("exec sleep 1000");
  const pid_t pid = first.pid();
  ChildProcess second = std::move(first);
  EXPECT_EQ(second.pid(), pid);
  EXPECT_TRUE(second.running());
}

using testing::ElementsAre;
using testing::IsEmpty;

class LineReaderTest : public testing::Test {
 protected:
  LineReaderTest() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    read_end_.Reset(ends[0]);
    write_end_.Reset(ends[1]);
  }
  void Write(const std::string& text) {
    ASSERT_EQ(write(write_end_.get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }

  UniqueFd read_end_;
  UniqueFd write_end_;
};

TEST_F(LineReaderTest, JoinsWhatArrivesInPieces) {
  LineReader reader(read_end_.get());
  EXPECT_THAT(reader.Read(), IsEmpty());
  Write("one\ntw");
  EXPECT_THAT(reader.Read(), ElementsAre("one"));
  Write("o\n\nthree");
  EXPECT_THAT(reader.Read(), ElementsAre("two", ""));
  EXPECT_FALSE(reader.at_end());
  write_end_.Reset();
  EXPECT_THAT(reader.Read(), ElementsAre("three"));
  EXPECT_TRUE(reader.at_end());
  EXPECT_THAT(reader.Read(), IsEmpty());
}

TEST_F(LineReaderTest, ALineMayBeLongerThanItsBuffer) {
  LineReader reader(read_end_.get());
  const std::string line(40000, 'x');
  Write(line + "\n");
  EXPECT_THAT(reader.Read(), ElementsAre(line));
}

TEST(RunFolderTest, Names) {
  EXPECT_EQ(DefaultRunDirectory(absl::FromUnixSeconds(1769874300),
                                absl::UTCTimeZone(), 4711),
            "./paceline-runs/20260131-154500-4711");
  EXPECT_EQ(RunFolderName(2, "dssp:lower=3,upper=15"),
            "2-dssp-lower-3-upper-15");
  EXPECT_EQ(RunFolderName(1, "../../etc"), "1-------etc");
}

TEST(RunFolderTest, MakesFoldersAndWritesWholeFiles) {
  const TestFolder root;
  const std::string folder = root.Path("a/b");
  ASSERT_TRUE(MakeFolder(folder).ok());
  ASSERT_TRUE(MakeFolder(folder).ok()) << "it may exist";
  const std::string file = folder + "/file";
  ASSERT_TRUE(WriteWholeFile(file, "one\n").ok());
  ASSERT_TRUE(WriteWholeFile(file, "one\ntwo\n\n").ok());
  EXPECT_EQ(LastLine(file), "two");
  EXPECT_TRUE(absl::IsInvalidArgument(MakeFolder(file)));
  EXPECT_TRUE(absl::IsInvalidArgument(MakeFolder(file + "/below")));
  std::filesystem::remove(file);
  EXPECT_EQ(LastLine(file), "");
  EXPECT_TRUE(absl::IsInternal(WriteWholeFile(root.Path("none/file"), "")));
}

TEST(RunFolderTest, LastLineOfALongFileIsShort) {
  const TestFolder root;
  const std::string file = root.Path("long");
  ASSERT_TRUE(WriteWholeFile(file, std::string(10000, 'a') + "\n" +
                                       std::string(1000, 'b') + "\n")
                  .ok());
  EXPECT_EQ(LastLine(file), std::string(300, 'b'));
}

}  // namespace

}  // namespace paceline
