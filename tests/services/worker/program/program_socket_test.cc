#include "services/worker/program/program_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "common/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/test_folder.h"

namespace paceline {
namespace {

using testing::HasSubstr;

// Longer than anything here takes: ends only what would hang.
ProgramPatience Patience() {
  return {.deadline = Clock::Real().Now() + absl::Seconds(30)};
}

UniqueFd Connect(const std::string& path) {
  UniqueFd caller(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path.data(), path.size());
  if (connect(caller.get(), reinterpret_cast<sockaddr*>(&address),
              sizeof(address)) != 0) {
    caller.Reset();
  }
  return caller;
}

// Up to the end of the connection.
std::string ReadAll(const UniqueFd& fd) {
  std::string all;
  char data[4096];
  for (ssize_t n = 0; (n = read(fd.get(), data, sizeof(data))) > 0;) {
    all.append(data, static_cast<size_t>(n));
  }
  return all;
}

class ProgramSocketTest : public testing::Test {
 protected:
  const TestFolder folder_;
  const std::string path_ = folder_.Path("program.sock");
  WakeUp wake_;
};

TEST_F(ProgramSocketTest, IsForThisUserAloneAndGoneAtTheEnd) {
  {
    const auto socket = ProgramSocket::Listen(path_, &wake_);
    ASSERT_TRUE(socket.ok()) << socket.status();
    struct stat about = {};
    ASSERT_EQ(lstat(path_.c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 07777, 0600u);
    EXPECT_TRUE(S_ISSOCK(about.st_mode));
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(ProgramSocketTest, FramesOfAnySizeGoBothWays) {
  const auto socket = ProgramSocket::Listen(path_, &wake_);
  const UniqueFd caller = Connect(path_);
  auto program = (*socket)->Take(Patience());
  ASSERT_TRUE(program.ok());
  // Two frames at once, and one that is larger than any buffer.
  const std::string two = FrameBytes(FrameKind::kInitialized, "") +
                          FrameBytes(FrameKind::kDone, "x");
  ASSERT_TRUE(WriteAll(caller.get(), two));
  EXPECT_EQ((*program)->Receive(Patience())->kind, FrameKind::kInitialized);
  EXPECT_EQ((*program)->Receive(Patience())->body, "x");
  const std::string large(3 << 20, 'y');
  std::thread writer([&] {
    EXPECT_TRUE(WriteAll(caller.get(), FrameBytes(FrameKind::kFailed, large)));
  });
  EXPECT_EQ((*program)->Receive(Patience())->body, large);
  writer.join();
  std::string read;
  std::thread reader([&] { read = ReadAll(caller); });
  EXPECT_TRUE(
      (*program)->Send(FrameBytes(FrameKind::kLot, large), Patience()).ok());
  shutdown(caller.get(), SHUT_WR);
  EXPECT_TRUE(absl::IsUnavailable((*program)->Receive(Patience()).status()));
  EXPECT_TRUE((*program)->gone());
  program->reset();
  reader.join();
  EXPECT_EQ(read, FrameBytes(FrameKind::kLot, large));
}

// Who must not wait leaves it to the next one who may.
TEST_F(ProgramSocketTest, WhatIsNotTakenAtOnceGoesAheadOfTheNextFrame) {
  const auto socket = ProgramSocket::Listen(path_, &wake_);
  const UniqueFd caller = Connect(path_);
  auto program = (*socket)->Take(Patience());
  ASSERT_TRUE(program.ok());
  const std::string large =
      FrameBytes(FrameKind::kLot, std::string(3 << 20, 'y'));
  const std::string small = FrameBytes(FrameKind::kStep, "z");
  (*program)->SendAtOnce(large);
  (*program)->SendAtOnce(small);
  EXPECT_FALSE((*program)->torn());
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      (*program)->Send("", {.deadline = Clock::Real().Now()})));
  std::string read;
  std::thread reader([&] { read = ReadAll(caller); });
  EXPECT_TRUE((*program)->Send("", Patience()).ok());
  EXPECT_TRUE((*program)->Send(small, Patience()).ok());
  program->reset();
  reader.join();
  EXPECT_EQ(read, large + small + small);
}

TEST_F(ProgramSocketTest, WhatIsSentAtOnceToNobodyIsSaidLater) {
  const auto socket = ProgramSocket::Listen(path_, &wake_);
  UniqueFd caller = Connect(path_);
  auto program = (*socket)->Take(Patience());
  ASSERT_TRUE(program.ok());
  caller.Reset();
  (*program)->SendAtOnce(FrameBytes(FrameKind::kStep, "z"));
  EXPECT_TRUE(absl::IsUnavailable((*program)->Send("", Patience())));
}

TEST_F(ProgramSocketTest, WaitsEndAsTheirPatienceSays) {
  const auto socket = ProgramSocket::Listen(path_, &wake_);
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      (*socket)->Take({.deadline = Clock::Real().Now()}).status()));
  EXPECT_TRUE(absl::IsCancelled(
      (*socket)->Take({.stopped = [] { return true; }}).status()));
  const UniqueFd caller = Connect(path_);
  const auto program = (*socket)->Take(Patience());
  ASSERT_TRUE(program.ok());
  // Half a frame is none, and is not lost.
  const std::string frame = FrameBytes(FrameKind::kFailed, "{}");
  ASSERT_TRUE(WriteAll(caller.get(), frame.substr(0, 9)));
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      (*program)
          ->Receive({.deadline = Clock::Real().Now() + absl::Milliseconds(1)})
          .status()));
  ASSERT_TRUE(WriteAll(caller.get(), frame.substr(9)));
  EXPECT_EQ((*program)->Receive(Patience())->body, "{}");
  // Nobody reads what it is sent.
  const std::string large =
      FrameBytes(FrameKind::kLot, std::string(4 << 20, 'x'));
  EXPECT_TRUE(absl::IsDeadlineExceeded((*program)->Send(
      large, {.deadline = Clock::Real().Now() + absl::Milliseconds(1)})));
}

TEST_F(ProgramSocketTest, ASecondOneIsRefusedAsLongAsTheFirstIsThere) {
  const auto socket = ProgramSocket::Listen(path_, &wake_);
  UniqueFd first = Connect(path_);
  auto program = (*socket)->Take(Patience());
  ASSERT_TRUE(program.ok());
  EXPECT_THAT(ReadAll(Connect(path_)), HasSubstr("ALREADY_EXISTS"));
  first.Reset();
  const UniqueFd second = Connect(path_);
  EXPECT_THAT(ReadAll(Connect(path_)), HasSubstr("ALREADY_EXISTS"));
  ASSERT_TRUE((*socket)->Take(Patience()).ok());
}

TEST_F(ProgramSocketTest, OneThatHasGoneBeforeItWasTakenIsNobody) {
  const auto socket = ProgramSocket::Listen(path_, &wake_);
  Connect(path_);
  const UniqueFd second = Connect(path_);
  const auto program = (*socket)->Take(Patience());
  ASSERT_TRUE(program.ok());
  EXPECT_FALSE((*program)->gone());
}

TEST_F(ProgramSocketTest, AnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
  const auto socket = ProgramSocket::Listen(path_, &wake_);
  // Whoever may open it all the same.
  std::filesystem::permissions(path_, std::filesystem::perms(0666));
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (setuid(65534) != 0) _exit(1);
    const std::string said = ReadAll(Connect(path_));
    WriteAll(ends[1], said);
    _exit(0);
  }
  close(ends[1]);
  EXPECT_THAT(ReadAll(UniqueFd(ends[0])), HasSubstr("PERMISSION_DENIED"));
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
}

TEST_F(ProgramSocketTest, WhatAProcessThatDiedHasLeftIsRemoved) {
  {
    const UniqueFd dead(socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path, path_.data(), path_.size());
    ASSERT_EQ(bind(dead.get(), reinterpret_cast<sockaddr*>(&address),
                   sizeof(address)),
              0);
  }
  ASSERT_TRUE(std::filesystem::exists(path_));
  EXPECT_TRUE(ProgramSocket::Listen(path_, &wake_).ok());
}

TEST_F(ProgramSocketTest, PathsThatCannotBe) {
  const auto socket = ProgramSocket::Listen(path_, &wake_);
  ASSERT_TRUE(socket.ok());
  EXPECT_TRUE(
      absl::IsAlreadyExists(ProgramSocket::Listen(path_, &wake_).status()));
  EXPECT_TRUE(std::filesystem::exists(path_));
  const std::string file = folder_.Write("file", "mine");
  EXPECT_TRUE(
      absl::IsInvalidArgument(ProgramSocket::Listen(file, &wake_).status()));
  EXPECT_TRUE(std::filesystem::exists(file));
  EXPECT_TRUE(absl::IsInvalidArgument(
      ProgramSocket::Listen(folder_.Path(std::string(200, 'x')), &wake_)
          .status()));
  const absl::Status none =
      ProgramSocket::Listen(folder_.Path("none/program.sock"), &wake_).status();
  EXPECT_TRUE(absl::IsNotFound(none));
  EXPECT_THAT(std::string(none.message()), HasSubstr("none/program.sock"));
}

}  // namespace
}  // namespace paceline
