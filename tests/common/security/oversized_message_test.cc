// A message above the limit costs no more than the limit, whoever sends it: the
// connection ends before the message is whole. What is only a little too large
// gets its answer.

#include <grpcpp/generic/generic_stub.h>

#include <chrono>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "common/rpc/grpc_status.h"
#include "gtest/gtest.h"
#include "tests/common/open_descriptors.h"
#include "tests/common/security/guarded_server.h"
#include "tests/common/security/test_certificates.h"

namespace paceline {
namespace {

constexpr char kGetCluster[] = "/paceline.v1.ClusterService/GetCluster";

// How a call ends whose message are so many MiB; the client holds one of them.
absl::Status Send(GuardedClient& client, size_t mebibytes) {
  const grpc::Slice one(std::string(1 << 20, '\0'));
  const std::vector<grpc::Slice> slices(mebibytes, one);
  const grpc::ByteBuffer message(slices.data(), slices.size());
  grpc::ClientContext context;
  SetLongDeadline(context);
  grpc::ByteBuffer reply;
  grpc::Status status;
  absl::Notification done;
  grpc::GenericStub stub(client.channel());
  stub.UnaryCall(&context, kGetCluster, grpc::StubOptions(), &message, &reply,
                 [&](grpc::Status ended) {
                   status = std::move(ended);
                   done.Notify();
                 });
  done.WaitForNotification();
  return FromGrpc(status);
}

struct Ends {
  std::string name;
  ServerSecurity server;
  ClientSecurity client;
};

// Open plaintext, where everybody is somebody; plaintext and TLS with tokens.
std::vector<Ends> AllEnds() {
  const TestCertificates& files = Certificates();
  std::vector<Ends> all = {{"open", {}, {}}};
  const auto add = [&all](const std::string& name,
                          const ServerSecurityOptions& server,
                          const ClientSecurityOptions& client) {
    auto serves = MakeServerSecurity(server);
    auto dials = MakeClientSecurity(client);
    EXPECT_TRUE(serves.ok()) << serves.status();
    EXPECT_TRUE(dials.ok()) << dials.status();
    all.push_back({name, *std::move(serves), *std::move(dials)});
  };
  add("tokens", {.token_file = files.TokenFile()},
      {.token_file = files.Token(v1::VIEWER)});
  add("TLS and tokens",
      {.tls = files.Server(),
       .tls_client_auth = "optional",
       .token_file = files.TokenFile()},
      {.tls = files.OnlyCa(), .token_file = files.Token(v1::VIEWER)});
  add("certificates", {.tls = files.Server()},
      {.tls = files.Client(v1::VIEWER)});
  return all;
}

TEST(OversizedMessageTest, AStrangersEndsItsConnection) {
  for (const Ends& ends : AllEnds()) {
    SCOPED_TRACE(ends.name);
    GuardedServer server(ends.server);
    GuardedClient client(server.address(), ends.client);
    EXPECT_TRUE(absl::IsUnavailable(Send(client, 1'000)));
    // Another connection of the same client may do what it may.
    EXPECT_TRUE(GuardedClient(server.address(), ends.client).WhoAmI().ok());
  }
}

TEST(OversizedMessageTest, AKnownCallersEndsItsConnection) {
  for (const Ends& ends : AllEnds()) {
    SCOPED_TRACE(ends.name);
    GuardedServer server(ends.server);
    GuardedClient client(server.address(), ends.client);
    EXPECT_TRUE(client.WhoAmI().ok());
    EXPECT_TRUE(absl::IsUnavailable(Send(client, 1'000)));
    EXPECT_TRUE(client.WhoAmI().ok());  // Over a new one.
  }
}

TEST(OversizedMessageTest, OneALittleTooLargeIsAnswered) {
  for (const Ends& ends : AllEnds()) {
    SCOPED_TRACE(ends.name);
    GuardedServer server(ends.server);
    GuardedClient client(server.address(), ends.client);
    EXPECT_TRUE(absl::IsResourceExhausted(Send(client, 5)));
    EXPECT_TRUE(client.WhoAmI().ok());
    EXPECT_TRUE(absl::IsResourceExhausted(Send(client, 5)));
  }
}

// What is delivered is no debt: far more than a connection may owe.
TEST(OversizedMessageTest, ManyMessagesAreNotALargeOne) {
  GuardedServer server({});
  GuardedClient client(server.address(), {});
  EXPECT_TRUE(client.WhoAmI().ok());
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(client.Drain(std::string(3 << 20, 'x')).ok()) << i;
  }
}

// gRPC would leak a connection that comes when its server stops.
TEST(OversizedMessageTest, NoDescriptorIsLeftBehind) {
  { GuardedServer first({}); }  // What gRPC opens once and keeps.
  const size_t before = OpenDescriptors();
  for (int i = 0; i < 5; ++i) {
    GuardedServer server({});
    for (int j = 0; j < 4; ++j) {
      GuardedClient client(server.address(), {});
      EXPECT_TRUE(client.WhoAmI().ok());
      if (j == 0) {
        EXPECT_TRUE(absl::IsUnavailable(Send(client, 1'000)));
      }
    }
  }
  EXPECT_LE(AwaitDescriptors(before), before);
}

}  // namespace
}  // namespace paceline
