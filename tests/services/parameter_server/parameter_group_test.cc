#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "common/link_connections.h"
#include "tests/services/parameter_server/parameter_stream_testing.h"

// Several parameter streams of one worker.

namespace paceline {
namespace {

using Blocks = std::map<uint32_t, float>;

TEST(ParameterGroupTest, TheStreamsOfAGroupCountTogether) {
  Serving server;
  server.Host(SmallConfig(3));
  Client first(server);
  Client second(server);
  first.HelloOfGroup(1, 5);
  second.HelloOfGroup(1, 5);
  first.Push(1, 1, 10);
  first.PullPart(1, 2, 0);  // It is in order: that push is taken then.
  EXPECT_EQ(first.RestOfPull(1), (Blocks{{10, -1}, {12, 0}}));
  second.Push(1, 2, 11);
  second.Push(1, 3, 12);
  EXPECT_EQ(second.Next().push_ack().iteration(), 1) << "it brought the last";
  first.PullPart(2, 2, 0);
  second.PullPart(2, 2, 1);
  EXPECT_EQ(first.RestOfPull(2), (Blocks{{10, -1}, {12, -3}}));
  EXPECT_EQ(second.RestOfPull(2), (Blocks{{11, -2}}));
}

TEST(ParameterGroupTest, ANewGroupTakesThePlaceOfAllStreamsOfTheOld) {
  Serving server;
  JobShard& job = server.Host(SmallConfig(2));
  Client old_first(server);
  Client old_second(server);
  for (Client* old : {&old_first, &old_second}) {
    old->HelloOfGroup(1, 5);
    old->PullPart(1, 2, old == &old_first ? 0 : 1, false, /*closing=*/1);
  }
  while (job.Counters().parked_pulls < 2) std::this_thread::yield();
  Client first(server);
  first.HelloOfGroup(1, 6);
  EXPECT_EQ(old_first.End(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(old_second.End(), grpc::StatusCode::UNAVAILABLE);
  Client second(server);
  second.HelloOfGroup(1, 6);
  // What the old ones had taken, the new ones repeat.
  first.Push(1, 5, 10);
  second.Push(1, 5, 11);
  first.PullPart(2, 2, 0);
  second.PullPart(2, 2, 1);
  int acknowledged = 0;
  for (Client* client : {&first, &second}) {
    v1::Frame next = client->Next();
    if (next.has_push_ack()) {
      ++acknowledged;
      next = client->Next();
    }
    EXPECT_TRUE(next.has_pulled_block());
  }
  EXPECT_EQ(acknowledged, 1);
  // One that has no group is alone.
  Client alone(server);
  alone.Hello(1);
  EXPECT_EQ(first.End(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(second.End(), grpc::StatusCode::UNAVAILABLE);
  alone.Pull(1, 0);
  EXPECT_EQ(alone.RestOfPull(1), (Blocks{{10, -5}, {11, -5}}));
}

// The first stream of a new group has repeated its part of a push, and hears
// that it is complete. The worker pushes again, and only then comes what the
// second stream repeats.
TEST(ParameterGroupTest, WhatASlowerStreamRepeatsChangesNothing) {
  Serving server;
  server.Host(SmallConfig(2));
  Client old(server);
  old.Hello(1);
  old.Push(1, 1, 10);
  old.Push(1, 1, 11);
  EXPECT_EQ(old.Next().push_ack().iteration(), 1);
  Client first(server);
  Client second(server);
  first.HelloOfGroup(1, 6);
  second.HelloOfGroup(1, 6);
  first.Push(1, 1, 10);
  EXPECT_EQ(first.Next().push_ack().iteration(), 1);
  first.Push(2, 1, 10);
  first.PullPart(1, 2, 0);
  EXPECT_EQ(first.RestOfPull(1), (Blocks{{10, -2}}));
  second.Push(1, 1, 11);
  second.PullPart(1, 2, 1);
  EXPECT_EQ(second.RestOfPull(1), (Blocks{{11, -1}}));
  second.Push(2, 1, 11);
  EXPECT_EQ(second.Next().push_ack().iteration(), 2);
}

// The first block of a part is there while others are still waited for.
TEST(ParameterGroupTest, APartThatWaitedGetsEachBlockOnce) {
  Serving server;
  JobShard& job = server.Host(SmallConfig(5));
  Client first(server);
  Client second(server);
  first.HelloOfGroup(1, 5);
  second.HelloOfGroup(1, 5);
  first.PullPart(1, 2, 0, false, /*closing=*/1);
  second.PullPart(1, 2, 1, false, /*closing=*/1);
  while (job.Counters().parked_pulls < 2) std::this_thread::yield();
  ASSERT_TRUE(job.Close(1, {}, 1).ok());
  EXPECT_EQ(first.RestOfPull(1), (Blocks{{10, 0}, {12, 0}, {14, 0}}));
  EXPECT_EQ(second.RestOfPull(1), (Blocks{{11, 0}, {13, 0}}));
}

// What is kept for compensation is what was sent, by whichever stream, though
// others push between two parts of it.
TEST(ParameterGroupTest, ThePartsOfAKeptPullAreOfOneMoment) {
  Serving server;
  JobShard& job = server.Host(SmallConfig(2));
  Client first(server);
  Client second(server);
  first.HelloOfGroup(1, 5);
  second.HelloOfGroup(1, 5);
  first.PullPart(1, 2, 0, /*keep=*/true);
  EXPECT_EQ(first.RestOfPull(1), (Blocks{{10, 0}}));
  ASSERT_TRUE(Push(job, PlainPush(5, 1, 11), 1).ok());
  second.PullPart(1, 2, 1, /*keep=*/true);
  EXPECT_EQ(second.RestOfPull(1), (Blocks{{11, 0}}));
  second.PullPart(2, 2, 1, /*keep=*/true);
  EXPECT_EQ(second.RestOfPull(2), (Blocks{{11, -1}}));
}

TEST(ParameterGroupTest, RefusesMorePartsAndStreamsThanThereMayBe) {
  Serving server;
  server.Host(SmallConfig(1));
  for (const auto& [parts, part] : {std::pair(2, 2), {0, 1}, {17, 3}}) {
    Client client(server);
    client.Hello(1);
    client.PullPart(1, parts, part);
    EXPECT_EQ(client.End(), grpc::StatusCode::INVALID_ARGUMENT)
        << part << " of " << parts;
  }
  std::vector<std::unique_ptr<Client>> clients;
  for (uint32_t i = 0; i <= kMostConnections; ++i) {
    clients.push_back(std::make_unique<Client>(server));
    clients.back()->HelloOfGroup(1, 5);
    if (i == kMostConnections) break;
    clients.back()->PullPart(1, kMostConnections, i);
    clients.back()->RestOfPull(1);
  }
  EXPECT_EQ(clients.back()->End(), grpc::StatusCode::INVALID_ARGUMENT);
  clients.front()->Pull(2, 0);
  EXPECT_EQ(clients.front()->RestOfPull(2), (Blocks{{10, 0}}));
}

}  // namespace
}  // namespace paceline
