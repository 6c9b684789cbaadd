// The parameter servers of the fleet, and the runs that use them.

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/services/coordinator/fleet/fleet_testing.h"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Workers would dial themselves, and wait for a server that never answers.
TEST_F(FleetTest, AServerNamesAnAddressThatWorkersCanDial) {
  ServerStream stream;
  for (const char* const address :
       {"", "0.0.0.0:7000", "[::]:7000", "s0:99999"}) {
    v1::ServerHello hello = Server("s0");
    hello.set_address(address);
    const absl::Status refused =
        fleet_.OnServerConnected(hello, stream.Open()).status();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << address;
    if (std::string(address).find("7000") == std::string::npos) continue;
    EXPECT_THAT(refused.ToString(), HasSubstr("--advertise HOST:PORT"));
  }
  EXPECT_THAT(fleet_.Servers(), IsEmpty());
}

TEST_F(FleetTest, PicksServersByNameAndThoseWithTheFewestBytes) {
  const auto names = [this](uint32_t count) {
    std::vector<std::string> picked;
    const auto links = fleet_.PickServers(count);
    for (const ServerLink& link : *links) {
      picked.push_back(link.name);
    }
    return picked;
  };
  for (const uint32_t count : {0u, 1u}) {
    const absl::Status status = fleet_.PickServers(count).status();
    EXPECT_TRUE(absl::IsUnavailable(status));
    EXPECT_THAT(status.ToString(), HasSubstr("waits for 1 parameter servers"));
  }
  ServerStream streams[3];
  Come(streams[0], "s2");
  Come(streams[1], "s0");
  Come(streams[2], "s1");
  EXPECT_THAT(names(0), ElementsAre("s0", "s1", "s2"));
  EXPECT_THAT(names(2), ElementsAre("s0", "s1"));
  EXPECT_TRUE(absl::IsUnavailable(fleet_.PickServers(4).status()));

  // A job on s0 alone.
  const auto run = AddRun(1, *fleet_.PickServers(1));
  WorkerStream worker;
  const uint64_t w = Come(worker, Worker("w0"));
  EXPECT_TRUE(fleet_.Assign(w, 1).ok());
  EXPECT_TRUE(fleet_.OnWorkerMessage(w, Ready()).ok());
  streams[1].Take();
  run->Start();
  streams[1].AwaitSomething();  // It hosts the model.
  EXPECT_THAT(names(1), ElementsAre("s1"));
  EXPECT_THAT(names(2), ElementsAre("s1", "s2"));
  EXPECT_THAT(names(3), ElementsAre("s0", "s1", "s2"));
  const std::vector<v1::Server> servers = fleet_.Servers();
  ASSERT_EQ(servers.size(), 3u);
  EXPECT_EQ(servers[0].name(), "servers/s0");
  EXPECT_EQ(servers[0].address(), "s0:7000");
  EXPECT_EQ(servers[0].parameter_bytes(), 176u);
  EXPECT_THAT(servers[0].jobs(), ElementsAre("namespaces/test/jobs/j1"));
  EXPECT_EQ(servers[1].parameter_bytes(), 0u);
  EXPECT_THAT(servers[1].jobs(), IsEmpty());
  run->Cancel(absl::CancelledError("the test is over"));
  EXPECT_FALSE(OutcomeOf(run, /*start=*/false).status.ok());
  fleet_.RemoveRun(1);
  EXPECT_THAT(names(1), ElementsAre("s0"));
}

TEST_F(FleetTest, AServersAnswersGoToTheirRun) {
  ServerStream stream, other;
  const uint64_t s = Come(stream, "s0");
  const uint64_t stranger = Come(other, "s1");
  const auto run = AddRun(1, *fleet_.PickServers(1));
  v1::ServerMessage failed;
  failed.set_run(1);
  failed.mutable_failed()->set_code(
      static_cast<int>(absl::StatusCode::kInvalidArgument));
  failed.mutable_failed()->set_message("unknown optimizer");
  EXPECT_TRUE(
      absl::IsInvalidArgument(fleet_.OnServerMessage(stranger, failed)));
  EXPECT_TRUE(fleet_.OnServerMessage(s, failed).ok());
  EXPECT_EQ(OutcomeOf(run).status,
            absl::InvalidArgumentError("s0: unknown optimizer"));
  fleet_.RemoveRun(1);
  // The last answers of a run that is over, from whomever.
  EXPECT_TRUE(fleet_.OnServerMessage(s, failed).ok());
  EXPECT_TRUE(fleet_.OnServerMessage(stranger, failed).ok());
  EXPECT_TRUE(absl::IsAborted(fleet_.OnServerMessage(s + 100, failed)));
}

TEST_F(FleetTest, ALostServerFailsTheRunsThatUseIt) {
  ServerStream s0, s1;
  Come(s0, "s0");
  const uint64_t lost = Come(s1, "s1");
  const auto links = *fleet_.PickServers(0);
  const auto first = AddRun(1, {links[0]});
  const auto second = AddRun(2, {links[1]});
  fleet_.OnServerDisconnected(lost);
  first->Cancel(absl::CancelledError("the test is over"));
  EXPECT_TRUE(absl::IsCancelled(OutcomeOf(first).status));
  const absl::Status status = OutcomeOf(second).status;
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(status.ToString(), HasSubstr("parameter server s1 is gone"));
  EXPECT_EQ(fleet_.Servers().size(), 1u);
}

// Between the choice of servers and the run's coming the store is asked.
TEST_F(FleetTest, AServerThatWentBeforeItsRunCameFailsIt) {
  ServerStream stream;
  const uint64_t lost = Come(stream, "s0");
  const auto links = *fleet_.PickServers(1);
  fleet_.OnServerDisconnected(lost);
  const absl::Status status = OutcomeOf(AddRun(1, links)).status;
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("parameter server s0 is gone"));
}

}  // namespace
}  // namespace paceline
