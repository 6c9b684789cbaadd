#include "common/security/small_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "absl/synchronization/notification.h"
#include "common/security/periodic.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/security/test_folder.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;

void ExpectError(const absl::StatusOr<std::string>& content,
                 absl::StatusCode code, const std::string& path,
                 const std::string& text) {
  EXPECT_EQ(content.status().code(), code) << content.status();
  EXPECT_THAT(std::string(content.status().message()), HasSubstr(path));
  EXPECT_THAT(std::string(content.status().message()), HasSubstr(text));
}

TEST(ReadSmallFileTest, GivesTheWholeContent) {
  const TestFolder folder;
  for (const size_t size : {1u, 100u, 100'000u, 1u << 20}) {
    const std::string text(size, 'x');
    const auto content = ReadSmallFile(folder.Write("file", text));
    ASSERT_TRUE(content.ok()) << content.status();
    EXPECT_EQ(*content, text);
  }
}

TEST(ReadSmallFileTest, SaysWhatIsWrong) {
  const TestFolder folder;
  const std::string none = folder.Path("none");
  ExpectError(ReadSmallFile(none), absl::StatusCode::kNotFound, none,
              "No such file");
  const std::string empty = folder.Write("empty", "");
  ExpectError(ReadSmallFile(empty), absl::StatusCode::kInvalidArgument, empty,
              "empty");
  const std::string large =
      folder.Write("large", std::string((1 << 20) + 1, 'x'));
  ExpectError(ReadSmallFile(large), absl::StatusCode::kInvalidArgument, large,
              "larger than 1 MiB");
  const std::string here = folder.Path(".");
  ExpectError(ReadSmallFile(here), absl::StatusCode::kInvalidArgument, here,
              "no ordinary file");
  const std::string below = folder.Path("empty/file");
  ExpectError(ReadSmallFile(below), absl::StatusCode::kNotFound, below, "");
}

TEST(ReadSmallFileTest, APipeDoesNotBlock) {
  const TestFolder folder;
  const std::string pipe = folder.Path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  ExpectError(ReadSmallFile(pipe), absl::StatusCode::kInvalidArgument, pipe,
              "no ordinary file");
}

TEST(ReadSmallFileTest, AFileThatMayNotBeRead) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const TestFolder folder;
  const std::string path = folder.Write("secret", "x");
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  ExpectError(ReadSmallFile(path), absl::StatusCode::kPermissionDenied, path,
              "denied");
}

TEST(PeriodicTest, WorksAgainAndAgainUntilItsEnd) {
  absl::Notification third;
  int calls = 0;
  {
    const Periodic periodic(absl::Milliseconds(1), [&] {
      if (++calls == 3) third.Notify();
    });
    EXPECT_TRUE(third.WaitForNotificationWithTimeout(absl::Seconds(30)));
  }
  const int last = calls;  // No other thread is there any more.
  EXPECT_GE(last, 3);
}

TEST(PeriodicTest, EndsAtOnceHoweverLongItsInterval) {
  const Periodic periodic(absl::InfiniteDuration(), [] { FAIL(); });
}

}  // namespace
}  // namespace paceline
