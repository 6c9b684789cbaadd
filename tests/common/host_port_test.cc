#include "common/host_port.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using testing::HasSubstr;

TEST(HostPortTest, Splits) {
  const struct {
    const char* address;
    const char* host;
    const char* port;  // Null: none.
  } kCases[] = {
      {"node7:80", "node7", "80"},
      {"127.0.0.1:80", "127.0.0.1", "80"},
      {":80", "", "80"},
      {"*:80", "*", "80"},
      {"[::1]:80", "::1", "80"},
      {"ipv6:%5B::1%5D:80", "::1", "80"},
      {"ipv6:[::1]", "::1", nullptr},
      {"ipv4:10.0.0.1:80", "10.0.0.1", "80"},
      {"dns:///node7:80", "node7", "80"},
      {"dns:node7", "node7", nullptr},
      {"::1", "::1", nullptr},
      {"10.0.0.1:80,10.0.0.2:80", "10.0.0.1:80,10.0.0.2:80", nullptr},
      {"node7", "node7", nullptr},
      {"node7:", "node7", ""},
      {"[::1", "::1", nullptr},
      {"", "", nullptr},
  };
  for (const auto& c : kCases) {
    const HostPort parts = SplitHostPort(c.address);
    EXPECT_EQ(parts.host, c.host) << c.address;
    ASSERT_EQ(parts.port.has_value(), c.port != nullptr) << c.address;
    if (c.port != nullptr) {
      EXPECT_EQ(*parts.port, c.port) << c.address;
    }
  }
}

TEST(HostPortTest, APortIsANumberUpTo65535) {
  for (const char* const port : {"0", "1", "7070", "65535", "00080"}) {
    EXPECT_EQ(ParsePort(port), std::stoi(port)) << port;
    EXPECT_TRUE(CheckPort(std::string("[::1]:") + port).ok()) << port;
  }
  for (const char* const port : {"", "65536", "99999", "-1", "+80", " 80",
                                 "80x", "http", "4294967376"}) {
    EXPECT_FALSE(ParsePort(port).has_value()) << port;
    for (const char* const host : {"127.0.0.1:", "[::1]:", ":", "dns:///n:"}) {
      const absl::Status status = CheckPort(std::string(host) + port);
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << host << port;
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr("want one from 0 to 65535"));
    }
  }
  for (const char* const portless :
       {"node7", "::1", "unix:/run/x:99999", "unix-abstract:x:99999"}) {
    EXPECT_TRUE(CheckPort(portless).ok()) << portless;
  }
}

}  // namespace
}  // namespace paceline
