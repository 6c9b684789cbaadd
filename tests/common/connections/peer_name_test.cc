#include "common/connections/peer_name.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>

#include "gtest/gtest.h"

namespace paceline {
namespace {

sockaddr_storage V4(const char* ip, int port) {
  sockaddr_in in = {};
  in.sin_family = AF_INET;
  in.sin_port = htons(static_cast<in_port_t>(port));
  EXPECT_EQ(inet_pton(AF_INET, ip, &in.sin_addr), 1);
  sockaddr_storage address = {};
  std::memcpy(&address, &in, sizeof(in));
  return address;
}

sockaddr_storage V6(const char* ip, int port, uint32_t scope = 0) {
  sockaddr_in6 in = {};
  in.sin6_family = AF_INET6;
  in.sin6_port = htons(static_cast<in_port_t>(port));
  in.sin6_scope_id = scope;
  EXPECT_EQ(inet_pton(AF_INET6, ip, &in.sin6_addr), 1);
  sockaddr_storage address = {};
  std::memcpy(&address, &in, sizeof(in));
  return address;
}

TEST(PeerNameTest, IsWhatGrpcWrites) {
  EXPECT_EQ(PeerName(V4("10.0.0.7", 5123)), "ipv4:10.0.0.7:5123");
  EXPECT_EQ(PeerName(V6("::ffff:10.0.0.7", 65'535)), "ipv4:10.0.0.7:65535");
  EXPECT_EQ(PeerName(V6("2001:db8::1", 80)), "ipv6:%5B2001:db8::1%5D:80");
  EXPECT_EQ(PeerName(V6("fe80::1", 80, 3)), "ipv6:%5Bfe80::1%253%5D:80");
}

TEST(PeerNameTest, OtherFamiliesHaveNone) {
  sockaddr_storage address = {};
  address.ss_family = AF_UNIX;
  EXPECT_EQ(PeerName(address), "");
}

}  // namespace
}  // namespace paceline
