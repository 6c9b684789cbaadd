#include "tests/integration/frame_relay.h"

#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <chrono>
#include <utility>

#include "absl/time/time.h"
#include "common/check.h"
#include "common/rpc/frame_codec.h"

namespace paceline {
namespace {

constexpr size_t kMaxQueued = 100'000;

absl::Status Broken() { return absl::UnavailableError("cut by the test"); }

// What goes by a socket would pass the relay by. Payloads may: their frames are
// cut all the same.
void TakeOutSocket(grpc::ByteBuffer& message) {
  const auto frame = DecodeFrame(message);
  if (!frame.ok() || !frame->header.lane_offer().socket()) return;
  v1::Frame without = frame->header;
  without.mutable_lane_offer()->set_socket(false);
  message = EncodeFrame(without);
}

}  // namespace

class FrameRelay::Worker : public ServerStream<Buffer, Buffer> {
 public:
  explicit Worker(FrameRelay* relay)
      : ServerStream(kMaxQueued), relay_(relay) {}

  void GoesTo(Server* server) { server_ = server; }

  // A frame of the server's.
  void Answered(Buffer& frame) {
    TakeOutSocket(frame);
    const Fate fate = relay_->Next();
    if (fate == Fate::kPass || fate == Fate::kLast) Send(frame);
    if (fate == Fate::kPass) return;
    if (fate != Fate::kHalfKnown) server_->FinishWrites();
    Close(Broken());
  }

 protected:
  absl::Status OnMessage(Buffer& frame) override {
    const Fate fate = relay_->Next();
    if (fate == Fate::kPass || fate == Fate::kLast) server_->Send(frame);
    if (fate == Fate::kPass) return absl::OkStatus();
    if (fate != Fate::kHalfKnown) server_->FinishWrites();
    return Broken();
  }
  void OnDisconnected() override {}

 private:
  FrameRelay* const relay_;
  Server* server_ = nullptr;
};

FrameRelay::FrameRelay(const std::string& server, FateOf fate)
    : fate_(std::move(fate)),
      channel_(MakeChannel(server, ChannelProfile::kBulk, absl::Seconds(30))) {
  auto listening = Listen("127.0.0.1:0", ChannelProfile::kBulk, {}, {this});
  CHECK(listening.ok());
  listening_ = *std::move(listening);
}

FrameRelay::~FrameRelay() {
  registry_.CloseAll(Broken());
  listening_.server->Shutdown(std::chrono::system_clock::now());
  listening_.server->Wait();
  EXPECT_TRUE(registry_.AwaitEmpty(absl::Seconds(30)));
  std::vector<std::unique_ptr<Server>> servers;
  absl::MutexLock lock(&mu_);
  servers.swap(servers_);
}

int FrameRelay::frames() {
  absl::MutexLock lock(&mu_);
  return frames_;
}

int FrameRelay::streams() {
  absl::MutexLock lock(&mu_);
  return static_cast<int>(servers_.size());
}

FrameRelay::Fate FrameRelay::Next() {
  int frame = 0;
  {
    absl::MutexLock lock(&mu_);
    frame = ++frames_;
  }
  return fate_(frame);
}

grpc::ServerBidiReactor<FrameRelay::Buffer, FrameRelay::Buffer>*
FrameRelay::Exchange(grpc::CallbackServerContext*) {
  const auto worker = std::make_shared<Worker>(this);
  const std::weak_ptr<Worker> weak = worker;
  grpc::TemplatedGenericStub<Buffer, Buffer> stub(channel_);
  auto server = std::make_unique<Server>(
      kMaxQueued,
      Server::Handlers{[weak](Buffer& frame) {
                         if (const auto there = weak.lock()) {
                           there->Answered(frame);
                         }
                         return absl::OkStatus();
                       },
                       [weak](const absl::Status& status) {
                         if (const auto there = weak.lock()) {
                           there->Close(status);
                         }
                       }},
      [&stub](grpc::ClientContext* context, auto* reactor) {
        stub.PrepareBidiStreamingCall(context,
                                      "/paceline.v1.Parameters/Exchange",
                                      grpc::StubOptions(), reactor);
      });
  worker->GoesTo(server.get());
  {
    absl::MutexLock lock(&mu_);
    servers_.push_back(std::move(server));
  }
  worker->Begin(&registry_);
  return worker.get();
}

}  // namespace paceline
