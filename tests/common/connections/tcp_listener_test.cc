#include "common/connections/tcp_listener.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

TEST(TcpListenerTest, TheSystemChoosesAPort) {
  for (const char* const address :
       {"127.0.0.1:0", "localhost:0", "0.0.0.0:0", "[::]:0"}) {
    const auto listener = ListenOnTcp(address);
    ASSERT_TRUE(listener.ok()) << address << ": " << listener.status();
    EXPECT_GT(listener->port, 0) << address;
    EXPECT_FALSE(listener->sockets.empty()) << address;
    // All of it is at that port.
    const auto again = ListenOnTcp(absl::StrCat(
        std::string(address, std::string(address).size() - 1), listener->port));
    EXPECT_TRUE(absl::IsUnavailable(again.status())) << address;
  }
}

TEST(TcpListenerTest, WhatIsNoAddressIsRefused) {
  for (const char* const address :
       {"", ":", ":80", "nowhere", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x",
        "127.0.0.1:-1", "127.0.0.1:65536", "127.0.0.1:99999", "::1:80",
        "[::1:80", "[]:80", "127.0.0.1:80x"}) {
    const auto listener = ListenOnTcp(address);
    EXPECT_TRUE(absl::IsInvalidArgument(listener.status()))
        << "'" << address << "': " << listener.status();
  }
}

TEST(TcpListenerTest, WhatIsNotThisMachinesIsUnavailable) {
  // Reserved for documentation (RFC 5737) and for names of nobody (RFC 6761).
  for (const char* const address : {"192.0.2.1:0", "nobody.invalid:0"}) {
    const auto listener = ListenOnTcp(address);
    EXPECT_TRUE(absl::IsUnavailable(listener.status())) << listener.status();
  }
}

}  // namespace
}  // namespace paceline
