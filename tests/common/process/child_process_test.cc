#include "common/process/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

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

// Waits until there is a line, and returns it without its end.
std::string AwaitLine(int fd) {
  std::string line;
  char byte = 0;
  while (true) {
    const ssize_t n = read(fd, &byte, 1);
    if (n == 0 || (n > 0 && byte == '\n')) return line;
    if (n > 0) {
      line += byte;
      continue;
    }
    pollfd input = {fd, POLLIN, 0};
    poll(&input, 1, -1);
  }
}

std::string AwaitLine(const ChildProcess& child) {
  return AwaitLine(child.stdout_fd());
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

TEST(ChildProcessTest, CapturesWhatItComplainsOf) {
  ChildSpec spec = Shell("echo out; echo no disk >&2; echo $COLOR >&2");
  spec.capture_stderr = true;
  spec.environment = {{"COLOR", "red"}};
  auto child = ChildProcess::Start(spec);
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_EQ(AwaitLine(child->stderr_fd()), "no disk");
  EXPECT_EQ(AwaitLine(child->stderr_fd()), "red");
  EXPECT_EQ(AwaitLine(child->stdout_fd()), "out");
  EXPECT_TRUE(Await(*child).clean());
}

TEST(ChildProcessTest, WithoutALogItWritesWhereThisProcessDoes) {
  ChildSpec spec = Shell("echo for everybody >&2");
  spec.log_path.clear();
  testing::internal::CaptureStderr();
  auto child = ChildProcess::Start(spec);
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_TRUE(Await(*child).clean());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "for everybody\n");
}

}  // namespace
}  // namespace paceline
