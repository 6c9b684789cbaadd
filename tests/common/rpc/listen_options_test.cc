// What a server limits and what it offers beside its services.

#include <atomic>
#include <string>
#include <thread>

#include "absl/synchronization/notification.h"
#include "common/rpc/channel.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/rpc/loopback.h"
#include "tests/common/rpc/scripted_cluster.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;

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
  ListenOptions options;
  options.max_receive_bytes = 1000;
  const ScriptedCluster small(options);
  EXPECT_TRUE(GetWorker(small.Connect(), std::string(900, 'x')).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(
      GetWorker(small.Connect(), std::string(1100, 'x'))));
}

TEST(ListenOptionsTest, MuchMetadataIsRefused) {
  const ScriptedCluster usual;
  EXPECT_TRUE(GetWorker(usual.Connect(), "x", 7'000).ok());
  EXPECT_TRUE(
      absl::IsResourceExhausted(GetWorker(usual.Connect(), "x", 9'000)));
  ListenOptions options;
  options.max_metadata_bytes = 16 << 10;
  const ScriptedCluster more(options);
  EXPECT_TRUE(GetWorker(more.Connect(), "x", 9'000).ok());
}

TEST(ListenOptionsTest, HealthIsServingUntilTheDrain) {
  ScriptedCluster server;
  const auto channel = server.Connect();
  EXPECT_EQ(RawCall(channel, kHealth, "").value_or("none"), kServing);
  SetServing(server.server(), false);
  EXPECT_EQ(RawCall(channel, kHealth, "").value_or("none"), kNotServing);
  EXPECT_TRUE(GetWorker(channel, "x").ok());  // Calls go on.
  SetServing(server.server(), true);
  EXPECT_EQ(RawCall(channel, kHealth, "").value_or("none"), kServing);
}

TEST(ListenOptionsTest, OneServerMayBeWithoutHealth) {
  ListenOptions options;
  options.health = false;
  ScriptedCluster without(options);
  ScriptedCluster with;
  ScriptedCluster without_too(options);  // Whatever came before it.
  EXPECT_TRUE(
      absl::IsUnimplemented(RawCall(without.Connect(), kHealth, "").status()));
  EXPECT_TRUE(RawCall(with.Connect(), kHealth, "").ok());
  EXPECT_TRUE(absl::IsUnimplemented(
      RawCall(without_too.Connect(), kHealth, "").status()));
  SetServing(without.server(), false);  // Changes nothing, harms nothing.
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

TEST(ListenOptionsTest, ThePlainOverloadOffersItsServiceAlone) {
  const Loopback server;
  const auto channel =
      MakeChannel(server.address(), ChannelProfile::kControl, kLong);
  for (const char* const method : {kHealth, kReflection}) {
    EXPECT_TRUE(absl::IsUnimplemented(RawCall(channel, method, "").status()));
  }
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

}  // namespace
}  // namespace paceline
