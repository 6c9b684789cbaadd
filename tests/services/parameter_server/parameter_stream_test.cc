#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "common/clock.h"
#include "common/lane/lane_door.h"
#include "common/rpc/channel.h"
#include "services/parameter_server/parameter_service.h"
#include "tests/services/parameter_server/job_shard_testing.h"

// The parameter stream as any client sees it: ordinary Protobuf messages.

namespace paceline {
namespace {

struct Serving {
  Serving()
      : service(&shard, &Clock::Real(), &metrics, &streams, nullptr,
                lanes.get()) {
    shard.ShareWeights();
    auto listens = Listen("127.0.0.1:0", ChannelProfile::kBulk, {}, {&service});
    EXPECT_TRUE(listens.ok()) << listens.status();
    listening = *std::move(listens);
    stub = v1::Parameters::NewStub(MakeChannel(
        listening.address, ChannelProfile::kBulk, absl::Seconds(30)));
  }
  ~Serving() {
    shard.Stop("the test is over");
    streams.CloseAll(absl::UnavailableError("the test is over"));
    listening.server->Shutdown(
        absl::ToChronoTime(absl::Now() + absl::Seconds(1)));
    listening.server->Wait();
    EXPECT_TRUE(streams.AwaitEmpty(absl::Seconds(10)));
  }

  // Run 1, all of whose weights are `value`.
  JobShard& Host(const ShardConfig& config, float value = 0) {
    EXPECT_TRUE(shard.Configure(1, config).ok());
    JobShard& job = **shard.Job(1);
    EXPECT_TRUE(SetAll(job, value).ok());
    return job;
  }

  prometheus::Registry registry;
  ServerMetrics metrics{registry};
  Shard shard;
  StreamRegistry streams;
  const std::unique_ptr<LaneDoor> lanes = *LaneDoor::Open();
  ParameterService service;
  ListeningServer listening;
  std::unique_ptr<v1::Parameters::Stub> stub;
};

// One worker's stream.
class Client {
 public:
  explicit Client(Serving& server, uint64_t incarnation = 77)
      : incarnation_(incarnation) {
    context_.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(30)));
    stream_ = server.stub->Exchange(&context_);
  }

  void Hello(uint64_t run, const std::string& host = "") {
    v1::Frame frame;
    frame.mutable_hello()->set_incarnation(incarnation_);
    frame.mutable_hello()->set_run(run);
    frame.mutable_hello()->set_host(host);
    stream_->Write(frame);
  }
  // As a worker of the server's machine.
  std::unique_ptr<MemoryLane> HelloWithLane(
      uint64_t run, const std::shared_ptr<SharedMemory>& gradients = nullptr) {
    Hello(run, HostKey());
    const v1::Frame offer = Next();
    EXPECT_TRUE(offer.has_lane_offer()) << offer.DebugString();
    auto lane =
        HandOverLane({offer.lane_offer().address(), offer.lane_offer().token()},
                     1000, gradients.get(), offer.lane_offer().weights());
    EXPECT_TRUE(lane.ok()) << lane.status();
    EXPECT_TRUE((*lane)->has_theirs()) << "the weights";
    const v1::Frame opened = Next();
    EXPECT_TRUE(opened.has_lane_open()) << opened.DebugString();
    EXPECT_EQ(opened.lane_open().references(), gradients != nullptr);
    (*lane)->ReferTo(gradients);
    return *std::move(lane);
  }
  // With the payload in the lane.
  void PushByLane(MemoryLane& lane, int64_t iteration, float gradient) {
    const std::vector<float> values(kTestBlockSize, gradient);
    const auto lent = lane.Lend({BytesOf(values)});
    ASSERT_TRUE(lent.has_value());
    PushLent(iteration, *lent);
  }
  void PushLent(int64_t iteration, const Lent& lent,
                v1::WireFormat format = v1::FP32) {
    v1::Frame frame = PushFrame(iteration, 10);
    frame.mutable_push_block()->set_format(format);
    frame.mutable_lent()->set_position(lent.position);
    frame.mutable_lent()->set_length(lent.length);
    frame.mutable_lent()->set_reference(lent.reference);
    stream_->Write(frame);
  }
  void Push(int64_t iteration, float gradient, uint32_t block = 10) {
    v1::Frame frame = PushFrame(iteration, block);
    for (uint32_t i = 0; i < kTestBlockSize; ++i) {
      frame.mutable_payload()->append(reinterpret_cast<const char*>(&gradient),
                                      4);
    }
    stream_->Write(frame);
  }
  void PushInt8(int64_t iteration, const std::string& bytes) {
    v1::Frame frame = PushFrame(iteration, 10);
    frame.mutable_push_block()->set_format(v1::INT8);
    frame.set_payload(bytes);
    stream_->Write(frame);
  }
  void Write(const v1::Frame& frame) { stream_->Write(frame); }
  static v1::Frame PushFrame(int64_t iteration, uint32_t block) {
    v1::Frame frame;
    v1::PushBlock& push = *frame.mutable_push_block();
    push.set_iteration(iteration);
    push.set_block(block);
    push.set_samples(kTestBatch);
    push.set_weight(1);
    push.set_immediate_rate(1);
    push.set_format(v1::FP32);
    return frame;
  }
  void Pull(uint64_t request, int64_t closing,
            v1::WireFormat format = v1::FP32) {
    v1::Frame frame;
    frame.mutable_pull()->set_request(request);
    frame.mutable_pull()->set_closing(closing);
    frame.mutable_pull()->set_format(format);
    stream_->Write(frame);
  }
  void PullByReference(uint64_t request, int64_t closing = 0,
                       v1::WireFormat format = v1::FP32) {
    v1::Frame frame;
    frame.mutable_pull()->set_request(request);
    frame.mutable_pull()->set_closing(closing);
    frame.mutable_pull()->set_format(format);
    frame.mutable_pull()->set_references(true);
    stream_->Write(frame);
  }
  void SayTaken(uint64_t request) {
    v1::Frame frame;
    frame.mutable_pull_taken()->set_request(request);
    stream_->Write(frame);
  }
  // The one block of a pull, by reference, and its end.
  Lent NextReference(uint64_t request) {
    const v1::Frame pulled = Next();
    EXPECT_EQ(pulled.pulled_block().request(), request);
    EXPECT_EQ(pulled.payload(), "");
    EXPECT_GT(pulled.lent().reference(), 0u) << pulled.DebugString();
    EXPECT_EQ(Next().pull_end().request(), request);
    return {pulled.lent().position(), pulled.lent().length(),
            pulled.lent().reference()};
  }
  void PullAndKeep(uint64_t request) {
    v1::Frame frame;
    frame.mutable_pull()->set_request(request);
    frame.mutable_pull()->set_closing(0);
    frame.mutable_pull()->set_format(v1::FP32);
    frame.mutable_pull()->set_keep(true);
    stream_->Write(frame);
  }
  void PullWithoutFrozen(uint64_t request) {
    v1::Frame frame;
    frame.mutable_pull()->set_request(request);
    frame.mutable_pull()->set_closing(0);
    frame.mutable_pull()->set_format(v1::FP32);
    frame.mutable_pull()->set_without_frozen(true);
    stream_->Write(frame);
  }
  void WritesDone() { stream_->WritesDone(); }
  v1::Frame Next() {
    if (came_.empty()) NextMessage();
    v1::Frame frame = std::move(came_.front());
    came_.pop_front();
    return frame;
  }
  // Whose frames come next; how many.
  size_t NextMessage() {
    v1::Frame frame;
    EXPECT_TRUE(stream_->Read(&frame));
    auto more = std::move(*frame.mutable_more());
    frame.clear_more();
    came_.push_back(std::move(frame));
    came_.insert(came_.end(), more.begin(), more.end());
    return came_.size();
  }
  grpc::StatusCode End() {
    v1::Frame frame;
    while (stream_->Read(&frame)) {
    }
    return stream_->Finish().error_code();
  }

 private:
  const uint64_t incarnation_;
  std::deque<v1::Frame> came_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::Frame, v1::Frame>> stream_;
};

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
