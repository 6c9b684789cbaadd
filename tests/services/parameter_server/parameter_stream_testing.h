#ifndef PACELINE_TESTS_SERVICES_PARAMETER_SERVER_PARAMETER_STREAM_TESTING_H_
#define PACELINE_TESTS_SERVICES_PARAMETER_SERVER_PARAMETER_STREAM_TESTING_H_

#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "common/clock.h"
#include "common/lane/lane_door.h"
#include "common/rpc/channel.h"
#include "services/parameter_server/parameter_service.h"
#include "tests/services/parameter_server/job_shard_testing.h"

namespace paceline {

// A parameter server.
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

// One worker's stream, as any client has it: ordinary Protobuf messages.
class Client {
 public:
  explicit Client(Serving& server, uint64_t incarnation = 77)
      : incarnation_(incarnation) {
    context_.set_deadline(absl::ToChronoTime(absl::Now() + absl::Minutes(5)));
    stream_ = server.stub->Exchange(&context_);
  }

  void Hello(uint64_t run, const std::string& host = "") {
    v1::Frame frame;
    frame.mutable_hello()->set_incarnation(incarnation_);
    frame.mutable_hello()->set_run(run);
    frame.mutable_hello()->set_host(host);
    stream_->Write(frame);
  }
  void HelloOfEpoch(uint64_t run, uint64_t epoch) {
    v1::Frame frame;
    frame.mutable_hello()->set_incarnation(incarnation_);
    frame.mutable_hello()->set_run(run);
    frame.mutable_hello()->set_epoch(epoch);
    stream_->Write(frame);
  }
  void HelloOfGroup(uint64_t run, uint64_t group) {
    v1::Frame frame;
    frame.mutable_hello()->set_incarnation(incarnation_);
    frame.mutable_hello()->set_run(run);
    frame.mutable_hello()->set_group(group);
    stream_->Write(frame);
  }
  // As a worker of the server's machine.
  std::unique_ptr<MemoryLane> HelloWithLane(
      uint64_t run, const std::shared_ptr<SharedMemory>& gradients = nullptr,
      bool socket = false) {
    Hello(run, HostKey());
    const v1::Frame offer = Next();
    EXPECT_TRUE(offer.has_lane_offer()) << offer.DebugString();
    EXPECT_TRUE(offer.lane_offer().socket());
    auto lane = HandOverLane(
        {offer.lane_offer().address(), offer.lane_offer().token()}, 1000,
        gradients.get(), offer.lane_offer().weights(), socket);
    EXPECT_TRUE(lane.ok()) << lane.status();
    EXPECT_TRUE((*lane)->has_theirs()) << "the weights";
    const v1::Frame opened = Next();
    EXPECT_TRUE(opened.has_lane_open()) << opened.DebugString();
    EXPECT_EQ(opened.lane_open().references(), gradients != nullptr);
    EXPECT_EQ(opened.lane_open().socket(), socket);
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
  void PullPart(uint64_t request, uint32_t parts, uint32_t part,
                bool keep = false, int64_t closing = 0) {
    v1::Frame frame;
    v1::Pull& pull = *frame.mutable_pull();
    pull.set_request(request);
    pull.set_closing(closing);
    pull.set_format(v1::FP32);
    pull.set_keep(keep);
    pull.set_parts(parts);
    pull.set_part(part);
    stream_->Write(frame);
  }
  // The blocks of a pull up to its end, with their first weight each.
  std::map<uint32_t, float> RestOfPull(uint64_t request) {
    std::map<uint32_t, float> blocks;
    v1::Frame frame = Next();
    for (; frame.has_pulled_block(); frame = Next()) {
      EXPECT_EQ(frame.pulled_block().request(), request);
      float weight = 0;
      std::memcpy(&weight, frame.payload().data(), sizeof(weight));
      EXPECT_TRUE(blocks.emplace(frame.pulled_block().block(), weight).second)
          << "block " << frame.pulled_block().block() << " came twice";
    }
    EXPECT_EQ(frame.pull_end().request(), request) << frame.DebugString();
    EXPECT_EQ(frame.pull_end().code(), 0);
    return blocks;
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

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_PARAMETER_SERVER_PARAMETER_STREAM_TESTING_H_
