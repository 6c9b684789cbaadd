// Frames over a real connection: the bulk profile carries whole blocks, and
// borrowed memory lives exactly as long as the transport needs it.

#include <memory>
#include <string>

#include "common/rpc/frame_codec.h"
#include "gtest/gtest.h"
#include "tests/common/rpc/frame_samples.h"
#include "tests/common/rpc/loopback.h"

namespace paceline {
namespace {

constexpr size_t kMiB = 1 << 20;

TEST(FrameTransportTest, ABlockArrivesAsItWasAndItsMemoryIsLetGo) {
  Loopback server(ChannelProfile::kBulk);
  server.behaviour().received = [](TestStream& stream,
                                   const grpc::ByteBuffer& message) {
    const auto frame = DecodeFrame(message);
    if (!frame.ok()) return frame.status();
    v1::Frame reply;
    reply.mutable_pull()->set_closing(
        static_cast<int64_t>(frame->payload.size()));
    stream.Send(EncodeFrame(reply));
    stream.Send(message);
    return absl::OkStatus();
  };
  Rng rng(1);
  for (const size_t size : {size_t{0}, size_t{1}, size_t{4097}, kMiB}) {
    auto owner = std::make_shared<std::string>(RandomBytes(size, rng));
    const std::string sent = *owner;
    const std::weak_ptr<std::string> alive = owner;
    Mailbox<std::string> echoes;
    TestClient client(server.address(), ChannelProfile::kBulk,
                      [&](const grpc::ByteBuffer& message) {
                        const auto frame = DecodeFrame(message);
                        if (frame.ok() && frame->header.has_set_block()) {
                          echoes.Put(Flatten(frame->payload));
                        }
                        return frame.status();
                      });
    v1::Frame header;
    header.mutable_set_block()->set_block(5);
    client.stream().Send(EncodeFrame(header, BorrowSlice(*owner, owner)));
    owner.reset();
    EXPECT_EQ(client.Next(), static_cast<int64_t>(size));
    EXPECT_TRUE(*echoes.Take(kLong) == sent) << size;
    client.stream().FinishWrites();
    EXPECT_TRUE(client.AwaitEnd().ok());
    client.Drop();
    EXPECT_TRUE(alive.expired());
  }
}

TEST(FrameTransportTest, ManyBlocksOnOneStreamKeepTheirOrder) {
  Loopback server(ChannelProfile::kBulk);
  server.behaviour().received = [](TestStream& stream,
                                   const grpc::ByteBuffer& message) {
    stream.Send(message);
    return absl::OkStatus();
  };
  TestClient client(server.address(), ChannelProfile::kBulk);
  for (int i = 0; i < 40; ++i) client.stream().Send(Numbered(i, kMiB));
  for (int i = 0; i < 40; ++i) EXPECT_EQ(client.Next(), i);
}

TEST(FrameTransportTest, AFrameLargerThanAnyBlockIsRefused) {
  Loopback server(ChannelProfile::kBulk);
  TestClient client(server.address(), ChannelProfile::kBulk);
  client.stream().Send(Numbered(1, 3 * kMiB));
  EXPECT_EQ(client.AwaitEnd().code(), absl::StatusCode::kResourceExhausted);
}

TEST(FrameTransportTest, TheGeneratedStubSpeaksTheSameWire) {
  Loopback server;
  server.behaviour().received = [](TestStream& stream,
                                   const grpc::ByteBuffer& message) {
    const auto frame = DecodeFrame(message);
    if (!frame.ok()) return frame.status();
    stream.Send(EncodeFrame(
        frame->header, grpc::Slice(Flatten(frame->payload) + " and back")));
    return absl::OkStatus();
  };
  const auto channel =
      MakeChannel(server.address(), ChannelProfile::kControl, kLong);
  const auto stub = v1::Parameters::NewStub(channel);
  grpc::ClientContext context;
  const auto call = stub->Exchange(&context);
  v1::Frame frame;
  frame.mutable_set_block()->set_block(3);
  frame.set_payload("there");
  ASSERT_TRUE(call->Write(frame));
  v1::Frame reply;
  ASSERT_TRUE(call->Read(&reply));
  EXPECT_EQ(reply.set_block().block(), 3u);
  EXPECT_EQ(reply.payload(), "there and back");
  call->WritesDone();
  EXPECT_TRUE(call->Finish().ok());
}

}  // namespace
}  // namespace paceline
