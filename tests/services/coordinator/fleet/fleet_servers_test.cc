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

TEST_F(FleetTest, AServerThatDoesNotSeeTheFolderIsNotPicked) {
  ServerStream sees, not_yet, old;
  v1::CheckpointFolders folders;
  folders.add_folders()->set_path("/saved");
  folders.mutable_folders(0)->set_id("one");
  v1::ServerHello hello = Server("s0");
  hello.set_sees_folders(true);
  const uint64_t s0 = *fleet_.OnServerConnected(hello, sees.Open());
  fleet_.SetFolders(folders);
  hello.set_name("s1");
  const uint64_t s1 = *fleet_.OnServerConnected(hello, not_yet.Open());
  Come(old, "s2");  // Which does not know that question.
  const std::vector<v1::ServerCommand> told = not_yet.Take();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[1].folders().folders(0).path(), "/saved");
  EXPECT_EQ(sees.Take().back().folders().number(), told[1].folders().number());
  const auto fit = [this] {
    std::vector<std::string> names;
    for (const v1::Server& server : fleet_.Servers()) {
      if (server.takes_jobs()) names.push_back(server.name());
    }
    return names;
  };
  EXPECT_THAT(fit(), ElementsAre("servers/s2"));
  EXPECT_EQ(fleet_.Servers()[0].folder_trouble(),
            "it has not said yet whether it sees the checkpoint folder");

  v1::ServerMessage message;
  v1::FoldersSeen& seen = *message.mutable_folders_seen();
  seen.set_number(told[1].folders().number());
  EXPECT_TRUE(fleet_.OnServerMessage(s0, message).ok());
  seen.set_code(static_cast<int>(absl::StatusCode::kFailedPrecondition));
  seen.set_message("it is not seen here");
  EXPECT_TRUE(fleet_.OnServerMessage(s1, message).ok());
  EXPECT_THAT(fit(), ElementsAre("servers/s0", "servers/s2"));
  const auto picked = fleet_.PickServers(0);
  ASSERT_EQ(picked->size(), 2u);
  EXPECT_EQ((*picked)[0].name, "s0");
  EXPECT_EQ((*picked)[1].name, "s2");
  EXPECT_EQ(fleet_.Servers()[1].folder_trouble(), "it is not seen here");

  // A full disk is told of, and keeps nobody away.
  seen.set_code(static_cast<int>(absl::StatusCode::kResourceExhausted));
  EXPECT_TRUE(fleet_.OnServerMessage(s1, message).ok());
  EXPECT_THAT(fit(), ElementsAre("servers/s0", "servers/s1", "servers/s2"));
  // What is said of the folders of before says nothing of others.
  fleet_.SetFolders(folders);
  EXPECT_TRUE(fleet_.OnServerMessage(s0, message).ok());
  EXPECT_THAT(fit(), ElementsAre("servers/s2"));
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

// It saves what it hosts; a service manager may not wait for that.
TEST_F(FleetTest, AServerThatLeavesIsNotPutOutByItsSuccessor) {
  ServerStream first, second, third;
  const uint64_t leaving = Come(first, "s0");
  v1::ServerMessage leaves;
  leaves.mutable_leaving();
  ASSERT_TRUE(fleet_.OnServerMessage(leaving, leaves).ok());
  Come(second, "s0");
  EXPECT_THAT(first.closed(), IsEmpty());
  EXPECT_EQ((*fleet_.PickServers(0)).size(), 1u);
  Come(third, "s0");
  EXPECT_THAT(first.closed(), IsEmpty());
  ASSERT_EQ(second.closed().size(), 1u);
  EXPECT_THAT(second.closed()[0].ToString(),
              HasSubstr("another server has registered as s0"));
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
