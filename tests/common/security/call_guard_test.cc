#include "common/security/call_guard.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/rpc/grpc_status.h"
#include "common/security/identity.h"
#include "common/status_details.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/security/eventually.h"
#include "tests/common/security/guarded_server.h"
#include "tests/common/security/test_certificates.h"

namespace paceline {
namespace {

ServerSecurity WithTokens() {
  auto security =
      MakeServerSecurity({.token_file = Certificates().TokenFile()});
  EXPECT_TRUE(security.ok()) << security.status();
  return *std::move(security);
}

GuardedClient ClientOf(const GuardedServer& server, v1::Role role) {
  const auto security =
      MakeClientSecurity({.token_file = Certificates().Token(role)});
  EXPECT_TRUE(security.ok()) << security.status();
  return GuardedClient(server.address(), *security);
}

TEST(CallGuardTest, EveryRoleMayCallWhatTheProtosSay) {
  const GuardedServer server(WithTokens());
  for (const v1::Role role : kRoles) {
    SCOPED_TRACE(std::string(RoleName(role)));
    GuardedClient client = ClientOf(server, role);
    const auto who = client.WhoAmI();
    ASSERT_TRUE(who.ok()) << who.status();
    EXPECT_EQ(*who, absl::StrCat(RoleName(role), "/token"));
    const absl::Status drained = client.Drain();
    const absl::Status joined = client.Join();
    EXPECT_EQ(drained.ok(), role == v1::ADMIN) << drained;
    EXPECT_EQ(joined.ok(), role == v1::WORKER) << joined;
    for (const absl::Status& status : {drained, joined}) {
      if (status.ok()) continue;
      EXPECT_TRUE(absl::IsPermissionDenied(status));
      EXPECT_EQ(ReasonOf(status), "ROLE_NOT_ALLOWED");
    }
  }
}

TEST(CallGuardTest, WithoutACheckEverythingIsAllowedAndCountsAsLocal) {
  const GuardedServer server{ServerSecurity()};
  GuardedClient client(server.address(), {});
  EXPECT_EQ(client.WhoAmI().value_or("refused"), "local");
  EXPECT_TRUE(client.Drain().ok());
  EXPECT_TRUE(client.Join().ok());
}

absl::Status CallWith(const GuardedServer& server,
                      const std::vector<std::string>& authorization) {
  const auto channel = MakeChannel(server.address(), ChannelProfile::kControl,
                                   absl::Seconds(20));
  grpc::ClientContext context;
  SetLongDeadline(context);
  for (const std::string& value : authorization) {
    context.AddMetadata("authorization", value);
  }
  v1::Cluster reply;
  return FromGrpc(v1::ClusterService::NewStub(channel)->GetCluster(
      &context, v1::GetClusterRequest(), &reply));
}

TEST(CallGuardTest, HowATokenIsWritten) {
  const GuardedServer server(WithTokens());
  const std::string token = "the-token-of-admin";
  EXPECT_TRUE(CallWith(server, {"Bearer " + token}).ok());
  EXPECT_TRUE(CallWith(server, {"bearer " + token}).ok());
  EXPECT_TRUE(CallWith(server, {"BEARER " + token}).ok());
  const std::vector<std::vector<std::string>> kWrong = {
      {""},
      {"Bearer"},
      {"Bearer "},
      {token},
      {"Basic " + token},
      {"Bearer  " + token},
      {"Bearer " + token + "x"},
      {"Bearer the-token-of-nobody"},
      {"Bearer " + token, "Bearer " + token},
      {"Bearer " + token, "Bearer the-token-of-viewer"},
  };
  for (const auto& wrong : kWrong) {
    const absl::Status status = CallWith(server, wrong);
    EXPECT_TRUE(absl::IsUnauthenticated(status)) << wrong[0];
    EXPECT_EQ(ReasonOf(status), "BAD_TOKEN") << wrong[0];
  }
}

TEST(CallGuardTest, TooManyRequestsOfOneAreToldWhenToComeAgain) {
  CallLimits limits;
  limits.requests.per_second = 0.01;
  limits.requests.burst = 3;
  const GuardedServer server(WithTokens(), limits);
  GuardedClient viewer = ClientOf(server, v1::VIEWER);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(viewer.WhoAmI().ok());
  const absl::Status refused = viewer.WhoAmI().status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_EQ(ReasonOf(refused), "TOO_MANY_REQUESTS");
  const auto delay = RetryDelayOf(refused);
  ASSERT_TRUE(delay.has_value());
  EXPECT_GT(*delay, absl::Seconds(50));
  EXPECT_LE(*delay, absl::Seconds(100));
  // A second connection does not help; another identity is not touched.
  EXPECT_FALSE(ClientOf(server, v1::VIEWER).WhoAmI().ok());
  EXPECT_TRUE(ClientOf(server, v1::WORKER).WhoAmI().ok());
}

// Who tries tokens out is slowed down, and harms nobody else.
TEST(CallGuardTest, RefusedCallsCountForTheirAddressAlone) {
  CallLimits limits;
  limits.requests.per_second = 0.01;
  limits.requests.burst = 5;
  const GuardedServer server(WithTokens(), limits);
  GuardedClient viewer = ClientOf(server, v1::VIEWER);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(ReasonOf(viewer.Drain()), "ROLE_NOT_ALLOWED");
  }
  EXPECT_EQ(ReasonOf(viewer.Drain()), "TOO_MANY_REQUESTS");
  EXPECT_EQ(ReasonOf(CallWith(server, {"Bearer the-token-of-nobody"})),
            "TOO_MANY_REQUESTS");
  EXPECT_TRUE(viewer.WhoAmI().ok());
}

TEST(CallGuardTest, StreamsAreCountedUntilTheyEnd) {
  CallLimits limits;
  limits.open_streams = 2;
  const GuardedServer server(WithTokens(), limits);
  GuardedClient worker = ClientOf(server, v1::WORKER);
  const auto stub = v1::Fleet::NewStub(worker.channel());
  grpc::ClientContext contexts[2];
  std::vector<std::unique_ptr<
      grpc::ClientReaderWriter<v1::WorkerMessage, v1::WorkerCommand>>>
      streams;
  for (grpc::ClientContext& context : contexts) {
    SetLongDeadline(context);
    streams.push_back(stub->Worker(&context));
    streams.back()->WaitForInitialMetadata();  // It is in.
  }
  const absl::Status refused = worker.Join();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_EQ(ReasonOf(refused), "TOO_MANY_STREAMS");
  for (const auto& stream : streams) {
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
  }
  EXPECT_TRUE(Eventually([&] { return worker.Join().ok(); }));
}

}  // namespace
}  // namespace paceline
