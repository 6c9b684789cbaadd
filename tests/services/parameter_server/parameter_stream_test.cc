#include <gtest/gtest.h>
#include <prometheus/registry.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "common/clock.h"
#include "common/lane/lane_door.h"
#include "common/rpc/channel.h"
#include "common/unique_fd.h"
#include "services/parameter_server/parameter_service.h"
#include "tests/services/parameter_server/parameter_stream_testing.h"

// The parameter stream as any client sees it: ordinary Protobuf messages.

namespace paceline {
namespace {

TEST(ParameterStreamTest, GoesToTheJobThatItNames) {
  Serving server;
  for (const uint64_t run : {1, 2}) {
    ASSERT_TRUE(server.shard.Configure(run, SmallConfig(1)).ok());
    ASSERT_TRUE(SetAll(**server.shard.Job(run), 0).ok());
  }
  Client one(server);
  Client two(server);
  one.Hello(1);
  two.Hello(2);
  one.Push(1, 3);
  two.Push(1, 5);
  EXPECT_EQ(one.Next().push_ack().iteration(), 1);
  EXPECT_EQ(two.Next().push_ack().iteration(), 1);
  EXPECT_EQ(ValuesNow(**server.shard.Job(1)), std::vector<float>{-3});
  EXPECT_EQ(ValuesNow(**server.shard.Job(2)), std::vector<float>{-5});
}

// As another language would use it: a length and a frame.
class Socket {
 public:
  explicit Socket(UniqueFd fd) : fd_(std::move(fd)) {}

  void Send(const v1::Frame& frame) {
    const std::string body = frame.SerializeAsString();
    const auto length = static_cast<uint32_t>(body.size());
    const std::string bytes =
        std::string(reinterpret_cast<const char*>(&length), sizeof(length)) +
        body;
    ASSERT_TRUE(WriteAll(fd_.get(), bytes));
  }
  v1::Frame Next() {
    uint32_t length = 0;
    Read(reinterpret_cast<char*>(&length), sizeof(length));
    std::string body(length, '\0');
    Read(body.data(), body.size());
    v1::Frame frame;
    EXPECT_TRUE(frame.ParseFromString(body));
    return frame;
  }

 private:
  void Read(char* to, size_t bytes) {
    while (bytes > 0) {
      const ssize_t n = read(fd_.get(), to, bytes);
      ASSERT_GT(n, 0);
      to += n;
      bytes -= static_cast<size_t>(n);
    }
  }

  const UniqueFd fd_;
};

v1::Frame BySocketFrame() {
  v1::Frame frame;
  frame.mutable_by_socket();
  return frame;
}

TEST(ParameterStreamTest, MessagesGoByTheSocketOfAWorkerOfThisMachine) {
  Serving server;
  JobShard& job = server.Host(SmallConfig(1));
  Client client(server);
  const auto lane = client.HelloWithLane(1, nullptr, /*socket=*/true);
  Socket socket(lane->TakeSocket().end);
  // Its own still come by gRPC, until it says so.
  client.Push(1, 3);
  EXPECT_EQ(socket.Next().push_ack().iteration(), 1);
  client.Push(2, 3);
  client.Write(BySocketFrame());
  EXPECT_EQ(socket.Next().push_ack().iteration(), 2);
  for (int64_t iteration = 3; iteration <= 100; ++iteration) {
    v1::Frame push = Client::PushFrame(iteration, 10);
    const std::vector<float> gradient(kTestBlockSize, 3);
    push.set_payload(std::string(BytesOf(gradient)));
    socket.Send(push);
    EXPECT_EQ(socket.Next().push_ack().iteration(), iteration);
  }
  EXPECT_EQ(ValuesNow(job), std::vector<float>{-300});
  v1::Frame pull;
  pull.mutable_pull()->set_request(7);
  pull.mutable_pull()->set_format(v1::BF16);
  socket.Send(pull);
  const v1::Frame pulled = socket.Next();
  EXPECT_EQ(pulled.pulled_block().request(), 7u);
  ASSERT_EQ(pulled.more_size(), 1);
  EXPECT_TRUE(pulled.more(0).has_pull_end());
  // The status comes by gRPC, as ever.
  v1::Frame wrong = Client::PushFrame(101, 77);
  socket.Send(wrong);
  EXPECT_EQ(client.End(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST(ParameterStreamTest, WhoSaysThatItHasASocketMustHaveOne) {
  Serving server;
  server.Host(SmallConfig(1));
  for (const bool lane : {false, true}) {
    Client client(server, lane ? 78 : 77);
    if (lane) {
      client.HelloWithLane(1);
    } else {
      client.Hello(1);
    }
    client.Write(BySocketFrame());
    EXPECT_EQ(client.End(), grpc::StatusCode::INVALID_ARGUMENT);
  }
}

TEST(ParameterStreamTest, NothingComesByGrpcAfterTheLastMessage) {
  Serving server;
  server.Host(SmallConfig(1));
  Client client(server);
  const auto lane = client.HelloWithLane(1, nullptr, /*socket=*/true);
  client.Write(BySocketFrame());
  client.Push(1, 3);
  EXPECT_EQ(client.End(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST(ParameterStreamTest, PayloadsGoThroughTheMemoryOfAWorkerOfThisMachine) {
  Serving server;
  JobShard& job = server.Host(SmallConfig(1));
  Client client(server);
  const auto lane = client.HelloWithLane(1);
  for (int64_t iteration = 1; iteration <= 100; ++iteration) {
    client.PushByLane(*lane, iteration, 3);
    EXPECT_EQ(client.Next().push_ack().iteration(), iteration);
    EXPECT_EQ(ValuesNow(job), std::vector<float>{-3.0f * iteration});
  }
  // Both ways may be mixed.
  client.Push(101, 1);
  EXPECT_EQ(client.Next().push_ack().iteration(), 101);
  client.Pull(1, 0);
  const v1::Frame pulled = client.Next();
  ASSERT_TRUE(pulled.has_pulled_block());
  EXPECT_EQ(pulled.payload(), "");
  const auto bytes =
      lane->Look({pulled.lent().position(), pulled.lent().length()});
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(*bytes, BytesOf(std::vector<float>(kTestBlockSize, -301)));
  EXPECT_TRUE(client.Next().has_pull_end());
  EXPECT_GT(server.metrics.lane_bytes.Value(), 100 * kTestBlockSize);
}

TEST(ParameterStreamTest, WhatIsNotFiniteIsRefusedByLaneAsWell) {
  Serving server;
  JobShard& job = server.Host(SmallConfig(1));
  Client client(server);
  const auto lane = client.HelloWithLane(1);
  // More often than the ring has room: the place is given back each time.
  for (int64_t iteration = 1; iteration <= 3'000; ++iteration) {
    client.PushByLane(*lane, iteration, std::numeric_limits<float>::infinity());
    EXPECT_EQ(client.Next().push_ack().refused_size(), 1);
  }
  EXPECT_EQ(ValuesNow(job), std::vector<float>{0});
}

// Gradients of one block that lie where the server reads them.
struct SharedGradients {
  float* floats() { return reinterpret_cast<float*>(memory->data()); }
  absl::string_view bytes() { return BytesOf({floats(), kTestBlockSize}); }
  void Fill(float value) { std::fill_n(floats(), kTestBlockSize, value); }

  const std::shared_ptr<SharedMemory> memory =
      *SharedMemory::Create("gradients", kTestBlockSize * sizeof(float));
};

TEST(ParameterStreamTest, AGradientIsReadWhereItLies) {
  Serving server;
  JobShard& job = server.Host(SmallConfig(1));
  Client client(server);
  SharedGradients gradients;
  const auto lane = client.HelloWithLane(1, gradients.memory);
  float sum = 0;
  for (int64_t iteration = 1; iteration <= 100; ++iteration) {
    gradients.Fill(static_cast<float>(iteration));
    sum += static_cast<float>(iteration);
    client.PushLent(iteration, *lane->Refer(gradients.bytes()));
    EXPECT_EQ(client.Next().push_ack().iteration(), iteration);
    EXPECT_EQ(ValuesNow(job), std::vector<float>{-sum});
  }
  gradients.Fill(std::numeric_limits<float>::quiet_NaN());
  client.PushLent(101, *lane->Refer(gradients.bytes()));
  EXPECT_EQ(client.Next().push_ack().refused_size(), 1);
  EXPECT_EQ(ValuesNow(job), std::vector<float>{-sum});
  EXPECT_EQ(server.metrics.lane_bytes.Value(), 101 * 4 * kTestBlockSize);
}

// A worker that has left the stream may write the next gradient there.
TEST(ParameterStreamTest, NothingIsTakenOfAGradientThatWasWithdrawn) {
  Serving server;
  JobShard& job = server.Host(SmallConfig(1));
  SharedGradients gradients;
  Client client(server);
  const auto lane = client.HelloWithLane(1, gradients.memory);
  gradients.Fill(1);
  const auto withdrawn = lane->Refer(gradients.bytes());
  client.PushLent(1, *withdrawn);
  EXPECT_EQ(client.Next().push_ack().iteration(), 1);
  lane->Withdraw();
  gradients.Fill(100);
  // What comes anew is.
  client.PushLent(2, *lane->Refer(gradients.bytes()));
  EXPECT_EQ(client.Next().push_ack().iteration(), 2);
  EXPECT_EQ(ValuesNow(job), std::vector<float>{-101});
  client.PushLent(3, *withdrawn);
  EXPECT_EQ(client.End(), grpc::UNAVAILABLE);
  EXPECT_EQ(ValuesNow(job), std::vector<float>{-101});
}

TEST(ParameterStreamTest, AReferenceOutsideTheMemoryEndsTheStream) {
  Serving server;
  JobShard& job = server.Host(SmallConfig(1));
  constexpr uint32_t kBytes = 4 * kTestBlockSize;
  const Lent places[] = {{0, kBytes + 1, 1},
                         {4, kBytes, 1},
                         {std::numeric_limits<uint64_t>::max(), kBytes, 1},
                         {0, kBytes - 4, 1}};
  for (const Lent& place : places) {
    SharedGradients gradients;
    Client client(server);
    const auto lane = client.HelloWithLane(1, gradients.memory);
    client.PushLent(1, place);
    EXPECT_EQ(client.End(), grpc::INVALID_ARGUMENT) << place.length;
  }
  for (const uint32_t length : {kBytes, 0u}) {
    Client without(server);
    const auto lane = without.HelloWithLane(1);
    without.PushLent(1, {0, length, 1});
    EXPECT_EQ(without.End(), grpc::INVALID_ARGUMENT) << length;
  }
  EXPECT_EQ(ValuesNow(job), std::vector<float>{0});
}

std::string AllOf(float value) {
  const std::vector<float> values(kTestBlockSize, value);
  return std::string(BytesOf(values));
}

// However often others push meanwhile, a pull's weights stay as they were until
// the worker has read them.
TEST(ParameterStreamTest, WeightsAreReadWhereTheyLie) {
  Serving server;
  JobShard& job = server.Host(SmallConfig(1));
  Client client(server);
  const auto lane = client.HelloWithLane(1);
  int64_t pushed = 0;
  for (uint64_t request = 1; request <= 100; ++request) {
    client.PullByReference(request);
    const Lent lent = client.NextReference(request);
    const auto before = static_cast<float>(-pushed);
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(Push(job, PlainPush(5, ++pushed, 10), 1).ok());
    }
    const auto bytes = lane->Look(lent);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    EXPECT_EQ(*bytes, AllOf(before));
    EXPECT_TRUE(lane->Stood(lent));
    if (request % 2 == 0) client.SayTaken(request);
  }
  EXPECT_EQ(ValuesNow(job), std::vector<float>{static_cast<float>(-pushed)});
}

// What the worker has read is written again in place.
TEST(ParameterStreamTest, ReadWeightsAreHeldNoLonger) {
  Serving server;
  JobShard& job = server.Host(SmallConfig(1));
  Client client(server);
  const auto lane = client.HelloWithLane(1);
  client.PullByReference(1);
  const Lent lent = client.NextReference(1);
  client.SayTaken(1);
  // In answer to what comes next: it has been heard by then.
  client.Push(1, 3);
  EXPECT_TRUE(client.Next().has_push_ack());
  EXPECT_EQ(*lane->Look(lent), AllOf(-3)) << "the same place";
  // Another pull's word is not this one's.
  client.PullByReference(2);
  const Lent held = client.NextReference(2);
  client.SayTaken(1);
  client.Push(2, 3);
  EXPECT_TRUE(client.Next().has_push_ack());
  EXPECT_EQ(*lane->Look(held), AllOf(-3));
  EXPECT_TRUE(lane->Stood(held));
  EXPECT_EQ(ValuesNow(job), std::vector<float>{-6});
}

TEST(ParameterStreamTest, WeightsAreWithdrawnBeforeTheyAreWrittenAgain) {
  Serving server;
  JobShard& job = server.Host(SmallConfig(1));
  Client client(server);
  const auto lane = client.HelloWithLane(1);
  client.PullByReference(1);
  const Lent first = client.NextReference(1);
  client.PullByReference(2);
  const Lent second = client.NextReference(2);
  EXPECT_FALSE(lane->Stood(first)) << "another pull has taken its place";
  EXPECT_TRUE(lane->Stood(second));
  // Another stream takes this one's place.
  Client next(server);
  next.Hello(1);
  EXPECT_EQ(client.End(), grpc::StatusCode::UNAVAILABLE);
  const absl::Time deadline = Clock::Real().Now() + absl::Seconds(10);
  while (lane->Stood(second) && Clock::Real().Now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_FALSE(lane->Stood(second));
  ASSERT_TRUE(Push(job, PlainPush(5, 1, 10), 1).ok());
  EXPECT_EQ(ValuesNow(job), std::vector<float>{-1});
}

// Only fp32 lies anywhere as it is sent.
TEST(ParameterStreamTest, ConvertedWeightsAreNotReferredTo) {
  Serving server;
  server.Host(SmallConfig(1));
  Client client(server);
  const auto lane = client.HelloWithLane(1);
  client.PullByReference(1, 0, v1::BF16);
  const v1::Frame pulled = client.Next();
  EXPECT_TRUE(pulled.has_lent());
  EXPECT_EQ(pulled.lent().reference(), 0u);
  EXPECT_TRUE(client.Next().has_pull_end());
  // Nobody who has no memory here is referred to it.
  Client without(server, /*incarnation=*/78);
  without.Hello(1);
  without.PullByReference(1);
  EXPECT_EQ(without.Next().payload().size(), 4 * kTestBlockSize);
}

// A worker sees no other run's weights.
TEST(ParameterStreamTest, EachRunHasMemoryOfItsOwn) {
  Serving server;
  server.Host(SmallConfig(1), 1);
  ASSERT_TRUE(server.shard.Configure(2, SmallConfig(1)).ok());
  ASSERT_TRUE(SetAll(**server.shard.Job(2), 2).ok());
  for (const uint64_t run : {1, 2}) {
    Client client(server);
    const auto lane = client.HelloWithLane(run);
    client.PullByReference(1);
    EXPECT_EQ(*lane->Look(client.NextReference(1)),
              AllOf(static_cast<float>(run)));
  }
  EXPECT_NE((*server.shard.Job(1))->shared_weights()->data(),
            (*server.shard.Job(2))->shared_weights()->data());
}

TEST(ParameterStreamTest, AWorkerOfAnotherMachineIsOfferedNoMemory) {
  Serving server;
  server.Host(SmallConfig(1));
  Client client(server);
  client.Hello(1, HostKey() + "0");
  client.Push(1, 3);
  const v1::Frame ack = client.Next();
  ASSERT_TRUE(ack.has_push_ack());
  EXPECT_EQ(ack.push_ack().gradient_square(), kTestBlockSize * 9);
}

TEST(ParameterStreamTest, APlaceOutsideTheMemoryEndsTheStream) {
  Serving server;
  JobShard& job = server.Host(SmallConfig(1));
  Client without(server);
  without.Hello(1);
  without.PushLent(1, {0, 4 * kTestBlockSize});
  EXPECT_EQ(without.End(), grpc::INVALID_ARGUMENT);
  const Lent places[] = {{0, 0},
                         {0, 4},
                         {0, std::numeric_limits<uint32_t>::max()},
                         {std::numeric_limits<uint64_t>::max(), 4096}};
  for (const Lent& place : places) {
    Client client(server);
    const auto lane = client.HelloWithLane(1);
    client.PushLent(1, place);
    EXPECT_EQ(client.End(), grpc::INVALID_ARGUMENT) << place.length;
  }
  EXPECT_EQ(ValuesNow(job), std::vector<float>{0});
}

// A message costs more than what is in a small one.
TEST(ParameterStreamTest, SmallBlocksComeInOneMessage) {
  Serving server;
  server.Host(SmallConfig(100));
  Client client(server);
  client.Hello(1);
  client.Pull(/*request=*/1, /*closing=*/0);
  EXPECT_EQ(client.NextMessage(), 101u) << "with the pull's end";
  // And so they may be pushed.
  v1::Frame pushed = Client::PushFrame(1, 10);
  pushed.set_payload(std::string(4 * kTestBlockSize, '\0'));
  for (uint32_t block = 11; block < 110; ++block) {
    v1::Frame& more = *pushed.add_more();
    more = Client::PushFrame(1, block);
    more.set_payload(std::string(4 * kTestBlockSize, '\0'));
  }
  client.Write(pushed);
  for (int frame = 0; frame < 101; ++frame) client.Next();
  EXPECT_EQ(client.Next().push_ack().iteration(), 1);
}

TEST(ParameterStreamTest, FollowersWithFollowersEndTheStream) {
  Serving server;
  server.Host(SmallConfig(1));
  Client client(server);
  client.Hello(1);
  v1::Frame frame = Client::PushFrame(1, 10);
  *frame.add_more()->add_more() = Client::PushFrame(1, 10);
  client.Write(frame);
  EXPECT_EQ(client.End(), grpc::StatusCode::INVALID_ARGUMENT);
}

// What never changes need not travel again.
TEST(ParameterStreamTest, FrozenBlocksMayBeLeftOut) {
  Serving server;
  ShardConfig config = SmallConfig(3);
  config.blocks[1].kind = TensorKind::kFrozen;
  server.Host(config);
  Client client(server);
  client.Hello(1);
  client.Pull(/*request=*/1, /*closing=*/0);
  for (const uint32_t block : {10u, 11u, 12u}) {
    EXPECT_EQ(client.Next().pulled_block().block(), block);
  }
  EXPECT_EQ(client.Next().pull_end().request(), 1u);
  client.PullWithoutFrozen(/*request=*/2);
  for (const uint32_t block : {10u, 12u}) {
    EXPECT_EQ(client.Next().pulled_block().block(), block);
  }
  EXPECT_EQ(client.Next().pull_end().request(), 2u);
}

TEST(ParameterStreamTest, APullThatWaitedGetsEachBlockOnce) {
  Serving server;
  ShardConfig config = SmallConfig(3);
  config.blocks[1].kind = TensorKind::kFrozen;
  JobShard& job = server.Host(config);
  Client client(server);
  client.Hello(1);
  client.Pull(/*request=*/1, /*closing=*/1);
  while (job.Counters().parked_pulls < 1) std::this_thread::yield();
  ASSERT_TRUE(job.Close(1, {}, 1).ok());
  // What never changes is not told early, and so comes last.
  for (const uint32_t block : {10u, 12u, 11u}) {
    EXPECT_EQ(client.Next().pulled_block().block(), block);
  }
  const v1::Frame end = client.Next();
  EXPECT_EQ(end.pull_end().request(), 1u);
  EXPECT_EQ(end.pull_end().code(), 0);
  EXPECT_EQ(server.metrics.pulls.Value(), 1);
}

// A worker that asks again and again and does not read would have the server
// hold a model, or a converted copy of one, for every time.
TEST(ParameterStreamTest, ASecondPullTakesThePlaceOfTheFirst) {
  Serving server;
  JobShard& job = server.Host(SmallConfig(1));
  Client client(server);
  client.Hello(1);
  client.Pull(/*request=*/1, /*closing=*/1);
  client.Pull(2, 0);
  EXPECT_EQ(client.Next().pulled_block().request(), 2u);
  EXPECT_EQ(client.Next().pull_end().request(), 2u);
  EXPECT_EQ(job.Counters().parked_pulls, 0u);
  ASSERT_TRUE(job.Close(1, {}, 1).ok());
  client.Push(1, 1);
  EXPECT_TRUE(client.Next().has_push_ack()) << "nothing comes of the first";
}

TEST(ParameterStreamTest, APullIsMadeReadyAsItIsRead) {
  Serving server;
  ShardConfig config = SmallConfig(0);
  constexpr uint32_t kBlocks = 96;
  constexpr double kBytes = double{kBlocks} * kBlockElementsMax * 2;
  for (uint32_t i = 0; i < kBlocks; ++i) {
    config.blocks.push_back({.id = i,
                             .tensor = "large",
                             .offset = uint64_t{i} * kBlockElementsMax,
                             .size = kBlockElementsMax});
  }
  server.Host(config, 1);
  Client client(server);
  client.Hello(1);
  client.Pull(1, 0, v1::BF16);
  // In answer to what comes next: the pull has been taken by then.
  client.Pull(2, 0, v1::BF16);
  client.WritesDone();
  while (server.metrics.pulls.Value() < 2) std::this_thread::yield();
  EXPECT_LT(server.metrics.pull_bytes.Value(), kBytes)
      << "one answer, converted ahead of a peer that does not read";
  uint32_t blocks = 0;
  v1::Frame frame = client.Next();
  for (; !frame.has_pull_end(); frame = client.Next()) {
    if (frame.pulled_block().request() == 2) ++blocks;
  }
  EXPECT_EQ(frame.pull_end().request(), 2u);
  EXPECT_EQ(blocks, kBlocks) << "in full, though it has said all it had to";
  EXPECT_EQ(client.End(), grpc::StatusCode::OK);
}

TEST(ParameterStreamTest, GradientsComeAsInt8AndWeightsDoNotGoSo) {
  Serving server;
  JobShard& job = server.Host(SmallConfig(1));
  Client client(server);
  const auto lane = client.HelloWithLane(1);
  const std::vector<float> gradient(kTestBlockSize, 127);
  std::string bytes(EncodedSize(DType::kInt8, kTestBlockSize), '\0');
  ConvertFromF32(DType::kInt8, gradient.data(), kTestBlockSize, bytes.data());
  client.PushInt8(1, bytes);
  EXPECT_EQ(client.Next().push_ack().iteration(), 1);
  EXPECT_EQ(ValuesNow(job), std::vector<float>{-127});
  const auto lent = lane->Lend({bytes});
  ASSERT_TRUE(lent.has_value());
  client.PushLent(2, *lent, v1::INT8);
  EXPECT_EQ(client.Next().push_ack().iteration(), 2);
  EXPECT_EQ(ValuesNow(job), std::vector<float>{-254});
  EXPECT_EQ(server.metrics.push_bytes.Value(), 2 * bytes.size());
  client.Pull(1, 0, v1::INT8);
  EXPECT_EQ(client.End(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST(ParameterStreamTest, AnInt8PushOfAnotherSizeEndsTheStream) {
  Serving server;
  JobShard& job = server.Host(SmallConfig(1));
  for (const size_t size : {0, 5, 8, 10, 20}) {
    Client client(server);
    client.Hello(1);
    client.PushInt8(1, std::string(size, '\0'));
    EXPECT_EQ(client.End(), grpc::StatusCode::INVALID_ARGUMENT) << size;
  }
  EXPECT_EQ(ValuesNow(job), std::vector<float>{0});
}

TEST(ParameterStreamTest, RefusesWhatComesWithoutAJob) {
  Serving server;
  ASSERT_TRUE(server.shard.Configure(1, SmallConfig(1)).ok());
  Client unknown(server);
  unknown.Hello(9);
  EXPECT_EQ(unknown.End(), grpc::StatusCode::NOT_FOUND);
  Client rude(server);
  rude.Push(1, 1);
  EXPECT_EQ(rude.End(), grpc::StatusCode::INVALID_ARGUMENT);
  Client twice(server);
  twice.Hello(1);
  twice.Hello(1);
  EXPECT_EQ(twice.End(), grpc::StatusCode::INVALID_ARGUMENT);
}

// What a worker had pushed to the one before is not known here, nor who was
// fenced there.
TEST(ParameterStreamTest, AShardThatWasRebuiltTakesNoStreamOfBefore) {
  Serving server;
  ShardConfig config = SmallConfig(1);
  config.least_epoch = 3;
  ASSERT_TRUE(server.shard.Configure(1, config).ok());
  JobShard& job = **server.shard.Job(1);
  job.set_epoch(4);
  for (const bool filled : {false, true}) {
    if (filled) ASSERT_TRUE(SetAll(job, 0).ok());
    Client before(server, /*incarnation=*/76);
    before.HelloOfEpoch(1, 2);
    before.Push(1, 3);
    EXPECT_EQ(before.End(), grpc::StatusCode::UNAVAILABLE);
  }
  Client client(server);
  client.HelloOfEpoch(1, 3);
  client.Push(1, 3);
  EXPECT_EQ(client.Next().push_ack().iteration(), 1);
  EXPECT_EQ(ValuesNow(job), std::vector<float>{-3});
}

// Half-open: the worker knows that its stream is broken, the server does not.
TEST(ParameterStreamTest, ANewStreamTakesThePlaceOfTheOld) {
  Serving server;
  JobShard& job = server.Host(SmallConfig(2));
  Client old(server);
  old.Hello(1);
  old.Push(1, 3);
  old.Pull(/*request=*/1, /*closing=*/1);
  while (job.Counters().parked_pulls == 0) std::this_thread::yield();
  Client other(server, /*incarnation=*/78);
  other.Hello(1);
  Client next(server);
  next.Hello(1);
  EXPECT_EQ(old.End(), grpc::StatusCode::UNAVAILABLE);
  next.Pull(1, 0);
  EXPECT_EQ(next.Next().pulled_block().block(), 10u);
  EXPECT_EQ(job.Counters().parked_pulls, 0u);
  // The end of the old one is not that of the new one, nor another worker's.
  other.Pull(1, 0);
  EXPECT_EQ(other.Next().pulled_block().block(), 10u);
}

// The acknowledgement may have been lost with the old stream.
TEST(ParameterStreamTest, ARepeatedPushIsAcknowledgedOnceAStream) {
  Serving server;
  server.Host(SmallConfig(2));
  for (int stream = 0; stream < 3; ++stream) {
    Client client(server);
    client.Hello(1);
    client.Push(1, std::numeric_limits<float>::infinity(), 10);
    client.Push(1, 5, 11);
    const v1::Frame ack = client.Next();
    EXPECT_EQ(ack.push_ack().iteration(), 1);
    ASSERT_EQ(ack.push_ack().refused_size(), 1);
    EXPECT_EQ(ack.push_ack().refused(0), 10u);
    client.Pull(1, 0);
    EXPECT_TRUE(client.Next().has_pulled_block()) << "no second one";
  }
  EXPECT_EQ(ValuesNow(**server.shard.Job(1)), (std::vector<float>{0, -5}));
}

// What is kept for compensation is what the worker computes with, though
// others push meanwhile.
TEST(ParameterStreamTest, AKeptPullThatIsAskedAgainGivesTheSame) {
  Serving server;
  JobShard& job = server.Host(SmallConfig(1));
  int64_t pushed = 0;
  for (const uint64_t request : {1, 1, 2}) {
    Client client(server);
    client.Hello(1);
    client.PullAndKeep(request);
    float weight = 0;
    std::memcpy(&weight, client.Next().payload().data(), sizeof(weight));
    EXPECT_EQ(weight, request == 1 ? 0 : -2);
    EXPECT_EQ(client.Next().pull_end().request(), request);
    ASSERT_TRUE(Push(job, PlainPush(5, ++pushed, 10), 1).ok());
  }
}

// A worker that stays connected keeps nothing of what the server has dropped.
TEST(ParameterStreamTest, ARunThatIsOverEndsItsStreams) {
  Serving server;
  server.Host(SmallConfig(1));
  Client client(server);
  client.Hello(1);
  client.Push(1, 1);
  EXPECT_EQ(client.Next().push_ack().iteration(), 1);
  const std::weak_ptr<JobShard> watched = *server.shard.Job(1);
  server.shard.Remove(1, "the job has ended");
  client.Push(2, 1);
  EXPECT_EQ(client.End(), grpc::StatusCode::UNAVAILABLE);
  // The reaction to the first push, which held it, is over by then.
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace paceline
