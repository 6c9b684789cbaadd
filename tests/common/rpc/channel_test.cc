#include "common/rpc/channel.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/rpc/loopback.h"

namespace paceline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

v1::Parameters::CallbackService& Service() {
  static v1::Parameters::CallbackService service;
  return service;
}

TEST(ListenTest, NamesThePortThatTheSystemChose) {
  const auto listening =
      Listen("127.0.0.1:0", ChannelProfile::kControl, &Service());
  ASSERT_TRUE(listening.ok());
  EXPECT_THAT(listening->address,
              AllOf(HasSubstr("127.0.0.1:"), Not(HasSubstr(":0"))));
  listening->server->Shutdown();
}

TEST(ListenTest, APortInUseIsUnavailable) {
  for (const auto profile : {ChannelProfile::kControl, ChannelProfile::kBulk}) {
    const Loopback first;
    const auto second = Listen(first.address(), profile, &Service());
    ASSERT_TRUE(absl::IsUnavailable(second.status()));
    EXPECT_THAT(std::string(second.status().message()),
                AllOf(HasSubstr(first.address()), HasSubstr("in use"),
                      HasSubstr("choose another")));
  }
}

TEST(ListenTest, APortIsFreeAgainAfterTheServer) {
  std::string address;
  {
    const Loopback first;
    address = first.address();
  }
  const auto second = Listen(address, ChannelProfile::kControl, &Service());
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->address, address);
  second->server->Shutdown();
}

TEST(ListenTest, AnAddressOfAnotherMachineIsUnavailable) {
  // Reserved for documentation (RFC 5737): nobody's.
  ServerSecurity security;
  security.allow_plaintext = true;
  const auto listening =
      Listen("192.0.2.1:0", ChannelProfile::kControl, security, {&Service()});
  EXPECT_TRUE(absl::IsUnavailable(listening.status()));
}

TEST(ListenTest, PlaintextIsForThisMachineUnlessAskedFor) {
  for (const char* const address : {"0.0.0.0:0", "[::]:0", "192.0.2.1:0"}) {
    const auto refused = Listen(address, ChannelProfile::kBulk, &Service());
    EXPECT_TRUE(absl::IsInvalidArgument(refused.status())) << address;
    EXPECT_THAT(std::string(refused.status().message()),
                AllOf(HasSubstr(address), HasSubstr("--insecure-plaintext")));
  }
  ServerSecurity security;
  security.allow_plaintext = true;
  const auto listening =
      Listen("0.0.0.0:0", ChannelProfile::kControl, security, {&Service()});
  ASSERT_TRUE(listening.ok()) << listening.status();
  listening->server->Shutdown();
}

TEST(ListenTest, WhatIsNoAddressIsRefused) {
  for (const char* const address : {"", "nowhere", "127.0.0.1:port"}) {
    const auto listening =
        Listen(address, ChannelProfile::kControl, &Service());
    EXPECT_FALSE(listening.ok()) << address;
  }
}

// A coordinator's page of a thousand jobs, say.
TEST(MakeChannelTest, AControlClientTakesLargeAnswers) {
  constexpr size_t kMiB = 1 << 20;
  Loopback server;
  server.behaviour().received = [](TestStream& stream,
                                   const grpc::ByteBuffer& message) {
    const int64_t mebibytes = NumberOf(message);
    stream.Send(Numbered(mebibytes, static_cast<size_t>(mebibytes) * kMiB));
    return absl::OkStatus();
  };
  TestClient client(server.address());
  for (const int64_t mebibytes : {1, 5, 63}) {
    client.stream().Send(Numbered(mebibytes));
    EXPECT_EQ(client.Next(), mebibytes);
  }
  client.stream().Send(Numbered(64));
  EXPECT_EQ(client.AwaitEnd().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace paceline
