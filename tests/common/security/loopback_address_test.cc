#include "common/security/loopback_address.h"

#include "gtest/gtest.h"

namespace paceline {
namespace {

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
