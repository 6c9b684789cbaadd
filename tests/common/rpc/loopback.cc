#include "tests/common/rpc/loopback.h"

#include <grpcpp/generic/generic_stub.h>

#include <chrono>
#include <utility>

#include "common/check.h"
#include "common/rpc/frame_codec.h"
#include "gtest/gtest.h"

namespace paceline {

grpc::ByteBuffer Numbered(int64_t number, size_t payload_bytes) {
  v1::Frame frame;
  frame.mutable_pull()->set_closing(number);
  return EncodeFrame(frame, grpc::Slice(std::string(payload_bytes, 'p')));
}

int64_t NumberOf(const grpc::ByteBuffer& message) {
  const auto frame = DecodeFrame(message);
  if (!frame.ok() || !frame->header.has_pull()) return -1;
  return frame->header.pull().closing();
}

absl::Status TestStream::OnMessage(grpc::ByteBuffer& message) {
  EXPECT_FALSE(over_);
  if (!behaviour_->received) return absl::OkStatus();
  const absl::Status status = behaviour_->received(*this, message);
  over_ = !status.ok();
  return status;
}

Loopback::Loopback(ChannelProfile profile) {
  auto listening = Listen("127.0.0.1:0", profile, {}, {this});
  CHECK(listening.ok());
  listening_ = *std::move(listening);
}

Loopback::~Loopback() {
  registry_.CloseAll(absl::UnavailableError("the test is over"));
  // Cancels what a peer that does not read has left.
  listening_.server->Shutdown(std::chrono::system_clock::now());
  listening_.server->Wait();
  EXPECT_TRUE(registry_.AwaitEmpty(kLong));
  // Wait() has seen the end of every OnDone(), and with it of every stream.
  EXPECT_EQ(behaviour_.ended.load(), behaviour_.destroyed.load());
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Loopback::Exchange(
    grpc::CallbackServerContext*) {
  const auto stream = std::make_shared<TestStream>(&behaviour_);
  stream->Begin(&registry_);
  behaviour_.begun.Put(stream);
  return stream.get();
}

std::shared_ptr<TestStream> Loopback::NextStream() {
  const auto stream = behaviour_.begun.Take(kLong);
  return stream.ok() ? stream->lock() : nullptr;
}

void OpenExchange(
    const std::shared_ptr<grpc::Channel>& channel, grpc::ClientContext* context,
    grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* reactor) {
  grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer> stub(channel);
  stub.PrepareBidiStreamingCall(context, "/paceline.v1.Parameters/Exchange",
                                grpc::StubOptions(), reactor);
}

TestClient::TestClient(
    const std::string& address, ChannelProfile profile,
    std::function<absl::Status(const grpc::ByteBuffer&)> received,
    std::function<bool()> may_read)
    : channel_(MakeChannel(address, profile, absl::Seconds(20))) {
  stream_ = std::make_unique<Stream>(
      100'000,
      Stream::Handlers{[this, received](const grpc::ByteBuffer& message) {
                         const absl::Status status =
                             received ? received(message) : absl::OkStatus();
                         // Only now: a test goes on from here.
                         received_.Put(NumberOf(message));
                         return status;
                       },
                       [this](const absl::Status& status) {
                         ++ends_;
                         received_.Close(absl::OkStatus());
                         ended_.Put({status});
                       },
                       {},
                       std::move(may_read)},
      [this](grpc::ClientContext* context, auto* reactor) {
        OpenExchange(channel_, context, reactor);
      });
}

int64_t TestClient::Next() {
  const auto number = received_.Take(kLong);
  return number.ok() ? *number : -1;
}

absl::Status TestClient::AwaitEnd() {
  const auto ending = ended_.Take(kLong);
  return ending.ok() ? ending->status
                     : absl::DeadlineExceededError("it did not end");
}

}  // namespace paceline
