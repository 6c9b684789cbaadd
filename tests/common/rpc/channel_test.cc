#include "common/rpc/channel.h"

#include <malloc.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/notification.h"
#include "common/rpc/grpc_status.h"
#include "common/status_details.h"
#include "common/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/rpc/loopback.h"
#include "tests/common/rpc/scripted_cluster.h"

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
      Listen("127.0.0.1:0", ChannelProfile::kControl, {}, {&Service()});
  ASSERT_TRUE(listening.ok());
  EXPECT_THAT(listening->address,
              AllOf(HasSubstr("127.0.0.1:"), Not(HasSubstr(":0"))));
  listening->server->Shutdown();
}

TEST(ListenTest, APortInUseIsUnavailable) {
  for (const auto profile : {ChannelProfile::kControl, ChannelProfile::kBulk}) {
    const Loopback first;
    const auto second = Listen(first.address(), profile, {}, {&Service()});
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
  const auto second =
      Listen(address, ChannelProfile::kControl, {}, {&Service()});
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
    const auto refused =
        Listen(address, ChannelProfile::kBulk, {}, {&Service()});
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
        Listen(address, ChannelProfile::kControl, {}, {&Service()});
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

// What a server limits and what it offers beside its services.

constexpr char kHealth[] = "/grpc.health.v1.Health/Check";
constexpr char kReflection[] =
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
// HealthCheckResponse.status, and ServerReflectionRequest.list_services.
constexpr char kServing[] = "\x08\x01";
constexpr char kNotServing[] = "\x08\x02";
constexpr char kListServices[] = "\x3a\x01*";

TEST(ListenOptionsTest, ALargeMessageIsRefused) {
  const ScriptedCluster usual;
  EXPECT_TRUE(GetWorker(usual.Connect(), std::string(4'000'000, 'x')).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(
      GetWorker(usual.Connect(), std::string((4 << 20) + 1, 'x'))));
}

TEST(ListenOptionsTest, MuchMetadataIsRefused) {
  const ScriptedCluster usual;
  EXPECT_TRUE(GetWorker(usual.Connect(), "x", 7'000).ok());
  EXPECT_TRUE(
      absl::IsResourceExhausted(GetWorker(usual.Connect(), "x", 9'000)));
}

TEST(ListenOptionsTest, HealthIsServingUntilTheDrain) {
  ScriptedCluster server;
  const auto channel = server.Connect();
  EXPECT_EQ(RawCall(channel, kHealth, "").value_or("none"), kServing);
  server.server().SetServing(false);
  EXPECT_EQ(RawCall(channel, kHealth, "").value_or("none"), kNotServing);
  EXPECT_TRUE(GetWorker(channel, "x").ok());  // Calls go on.
  server.server().SetServing(true);
  EXPECT_EQ(RawCall(channel, kHealth, "").value_or("none"), kServing);
}

TEST(ListenOptionsTest, ReflectionIsThereOnlyIfAskedFor) {
  ListenOptions options;
  options.reflection = true;
  const ScriptedCluster without;
  const ScriptedCluster with(options);
  EXPECT_TRUE(absl::IsUnimplemented(
      RawCall(without.Connect(), kReflection, kListServices).status()));
  const auto services = RawCall(with.Connect(), kReflection, kListServices);
  ASSERT_TRUE(services.ok()) << services.status();
  EXPECT_THAT(*services, HasSubstr("paceline.v1.ClusterService"));
  EXPECT_THAT(*services, HasSubstr("grpc.health.v1.Health"));
}

// Clients that list services ask for the descriptor of each.
TEST(ListenOptionsTest, ReflectionDescribesEveryServiceThatItNames) {
  ListenOptions options;
  options.reflection = true;
  const ScriptedCluster server(options);
  for (const std::string service :
       {"paceline.v1.ClusterService", "grpc.health.v1.Health",
        "grpc.reflection.v1alpha.ServerReflection"}) {
    // ServerReflectionRequest.file_containing_symbol.
    const std::string request =
        "\x22" + std::string(1, static_cast<char>(service.size())) + service;
    const auto answer = RawCall(server.Connect(), kReflection, request);
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_THAT(*answer, HasSubstr(".proto")) << service;
  }
}

// A connection that says no more than HTTP/2's preface and empty settings, once
// the server has acknowledged them.
UniqueFd Greeted(const std::string& address) {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int port = 0;
  const std::vector<std::string> parts = absl::StrSplit(address, ':');
  EXPECT_TRUE(absl::SimpleAtoi(parts.back(), &port));
  to.sin_port = htons(static_cast<uint16_t>(port));
  EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
  const std::string settings("\0\0\0\x4\0\0\0\0\0", 9);
  const std::string said = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings;
  EXPECT_EQ(send(fd.get(), said.data(), said.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(said.size()));
  const std::string acknowledged("\0\0\0\x4\x1\0\0\0\0", 9);
  std::string heard;
  pollfd waits = {fd.get(), POLLIN, 0};
  while (heard.find(acknowledged) == std::string::npos) {
    char some[256];
    EXPECT_EQ(poll(&waits, 1, 30'000), 1);
    const ssize_t got = recv(fd.get(), some, sizeof(some), 0);
    if (got <= 0) {
      ADD_FAILURE() << "the connection has ended";
      break;
    }
    heard.append(some, static_cast<size_t>(got));
  }
  return fd;
}

// What malloc has given away; nothing where a sanitizer replaces it.
size_t Allocated() {
  const auto all = mallinfo2();
  return all.uordblks + all.hblkhd;
}

TEST(ListenOptionsTest, ABulkConnectionThatHasSentLittleCostsLittle) {
  constexpr size_t kConnections = 64;
  const Loopback server(ChannelProfile::kBulk);
  std::vector<UniqueFd> connections;
  connections.push_back(Greeted(server.address()));
  const size_t before = Allocated();
  for (size_t i = 0; i < kConnections; ++i) {
    connections.push_back(Greeted(server.address()));
  }
  EXPECT_LT(Allocated(), before + kConnections * (256 << 10));
}

// A unary call that nobody answers before it is let go takes the only place.
TEST(ListenOptionsTest, OneConnectionHasSoManyCallsAtATime) {
  ListenOptions options;
  options.max_concurrent_streams = 1;
  absl::Notification entered;
  absl::Notification release;
  std::atomic<int> calls = 0;
  const ScriptedCluster server(options, [&](const std::string& name) {
    ++calls;
    if (name == "slow") {
      entered.Notify();
      release.WaitForNotification();
    }
    return absl::OkStatus();
  });
  const auto channel = server.Connect();
  ASSERT_TRUE(GetWorker(channel, "first").ok());  // The settings have arrived.
  std::thread slow([&] { EXPECT_TRUE(GetWorker(channel, "slow").ok()); });
  entered.WaitForNotification();
  std::thread waits([&] { EXPECT_TRUE(GetWorker(channel, "waits").ok()); });
  // Another connection gets through, one call after the other.
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(GetWorker(server.Connect(), "other").ok());
  }
  EXPECT_EQ(calls.load(), 22);  // Not the one that waits.
  release.Notify();
  slow.join();
  waits.join();
  EXPECT_EQ(calls.load(), 23);
}

// Errors with details as they really travel, in HTTP/2 trailers.

TEST(ErrorTrailersTest, ASmallErrorArrivesAsItWas) {
  const absl::Status sent = InvalidField("name", "n\xc3\xb6 such % worker");
  const ScriptedCluster server({}, [&](const std::string&) { return sent; });
  EXPECT_EQ(GetWorker(server.Connect(), "x"), sent);
}

// Every size up to far more than fits: the client always sees our error and
// its reason, never one of the transport's about the size of metadata.
TEST(ErrorTrailersTest, ErrorsOfAnySizeArrive) {
  const ScriptedCluster server({}, [](const std::string& name) {
    int size = 0;
    EXPECT_TRUE(absl::SimpleAtoi(name, &size));
    absl::Status status = InvalidFields(std::vector<FieldViolation>(
        40, {"job.spec.x", std::string(size, '%')}));
    return WithReason(status, "REASON", {{"x", std::string(size, 'x')}});
  });
  const auto channel = server.Connect();
  for (int size = 0; size < 20'000; size += size < 400 ? 7 : 1'500) {
    const absl::Status status = GetWorker(channel, absl::StrCat(size));
    ASSERT_TRUE(absl::IsInvalidArgument(status)) << size << ": " << status;
    ASSERT_EQ(ReasonOf(status), "REASON") << size;
  }
}

TEST(ErrorTrailersTest, AMessageOfAnySizeAndBytesArrives) {
  const ScriptedCluster server({}, [](const std::string& name) {
    int size = 0;
    EXPECT_TRUE(absl::SimpleAtoi(name, &size));
    std::string bytes;
    for (int i = 0; i < size; ++i) bytes += static_cast<char>(i * 7);
    return absl::AbortedError(bytes);
  });
  const auto channel = server.Connect();
  for (int size = 1; size < 100'000; size *= 3) {
    EXPECT_TRUE(absl::IsAborted(GetWorker(channel, absl::StrCat(size))))
        << size;
  }
}

}  // namespace

}  // namespace paceline
