#include "common/security/small_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "absl/synchronization/notification.h"
#include "common/security/loopback_address.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/test_folder.h"

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

TEST(IsLoopbackAddressTest, WhatOnlyThisMachineReaches) {
  for (const char* const address :
       {"127.0.0.1:80", "127.0.0.1", "127.8.9.10:0", "localhost:80",
        "LocalHost", "[::1]:80", "[::1]", "::1", "[::ffff:127.0.0.1]:1",
        "ipv4:127.0.0.1:80", "ipv6:[::1]:80", "ipv6:%5B::1%5D:80",
        "dns:localhost:80", "dns:///127.0.0.1:80", "unix:/run/paceline",
        "unix-abstract:paceline"}) {
    EXPECT_TRUE(IsLoopbackAddress(address)) << address;
  }
}

TEST(IsLoopbackAddressTest, WhatOthersReachAndWhatIsInDoubt) {
  for (const char* const address : {"",
                                    ":80",
                                    "0.0.0.0:80",
                                    "[::]:80",
                                    "::",
                                    "*:80",
                                    "10.0.0.1:80",
                                    "128.0.0.1:80",
                                    "127.1:80",
                                    "127.0.0.1.example.com:80",
                                    "localhost.example.com:80",
                                    "example.com",
                                    "[::ffff:10.0.0.1]:1",
                                    "[fe80::1]:80",
                                    "ipv4:127.0.0.1:80,10.0.0.1:80",
                                    "127.0.0.1,10.0.0.1:80",
                                    "localhost:80,example.com:80",
                                    "dns://127.0.0.1/example.com:80",
                                    "ipv4:",
                                    "["}) {
    EXPECT_FALSE(IsLoopbackAddress(address)) << address;
  }
}

TEST(IsWildcardAddressTest, WhatStandsForAllAddresses) {
  for (const char* const address :
       {"0.0.0.0:80", "0.0.0.0", "[::]:80", "::", "[::ffff:0.0.0.0]:1", ":80",
        "*:80", "", "ipv4:0.0.0.0:80", "ipv6:%5B::%5D:80", "dns:///0.0.0.0"}) {
    EXPECT_TRUE(IsWildcardAddress(address)) << address;
  }
}

TEST(IsWildcardAddressTest, WhatCanBeDialled) {
  for (const char* const address :
       {"127.0.0.1:80", "10.0.0.1:80", "0.0.0.1:80", "[::1]:80", "[fe80::1]:80",
        "[::ffff:10.0.0.1]:1", "example.com:80", "0.example.com",
        "unix:/run/paceline"}) {
    EXPECT_FALSE(IsWildcardAddress(address)) << address;
  }
}

}  // namespace

}  // namespace paceline
