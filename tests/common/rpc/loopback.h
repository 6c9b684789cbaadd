#ifndef PACELINE_TESTS_COMMON_RPC_LOOPBACK_H_
#define PACELINE_TESTS_COMMON_RPC_LOOPBACK_H_

#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/mailbox.h"
#include "common/rpc/channel.h"
#include "common/rpc/client_stream.h"
#include "common/rpc/server_stream.h"
#include "common/rpc/stream_registry.h"
#include "protos/paceline/v1/parameters.grpc.pb.h"

namespace paceline {

// Longer than any test may take: ends only what would hang.
inline constexpr absl::Duration kLong = absl::Seconds(30);

// A frame that carries a number, and the number of such a frame (or -1).
grpc::ByteBuffer Numbered(int64_t number, size_t payload_bytes = 0);
int64_t NumberOf(const grpc::ByteBuffer& message);

// The server's side of one stream of a test.
class TestStream : public ServerStream<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  // What every stream of a server does, and what became of them all.
  struct Behaviour {
    std::function<absl::Status(TestStream&, const grpc::ByteBuffer&)> received;
    std::function<bool()> may_read;         // Empty: always.
    std::function<void(TestStream&)> sent;  // OnSent().
    size_t max_queued = 100'000;
    std::atomic<int> ended = 0;
    std::atomic<int> destroyed = 0;
    // The streams that have begun, weakly: their owner is the registry.
    Mailbox<std::weak_ptr<TestStream>> begun;
  };

  explicit TestStream(Behaviour* behaviour)
      : ServerStream(behaviour->max_queued), behaviour_(behaviour) {}
  ~TestStream() override { ++behaviour_->destroyed; }

  using ServerStream::Bypass;
  using ServerStream::bypassed;
  using ServerStream::queued;
  using ServerStream::ReadBypass;
  using ServerStream::ReadOn;

 protected:
  void OnSent() override {
    if (behaviour_->sent) behaviour_->sent(*this);
  }
  bool MayRead() override {
    return !behaviour_->may_read || behaviour_->may_read();
  }
  absl::Status OnMessage(grpc::ByteBuffer& message) override;
  void OnDisconnected() override { ++behaviour_->ended; }

 private:
  Behaviour* const behaviour_;
  bool over_ = false;  // An error was given: nothing may be received.
};

// A server of the raw Parameters service on a port that the system chose.
class Loopback : public v1::Parameters::WithRawCallbackMethod_Exchange<
                     v1::Parameters::Service> {
 public:
  explicit Loopback(ChannelProfile profile = ChannelProfile::kControl);
  // Closes all streams and waits for their ends.
  ~Loopback() override;

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Exchange(
      grpc::CallbackServerContext* context) override;

  // Set before the first stream.
  TestStream::Behaviour& behaviour() { return behaviour_; }
  StreamRegistry& registry() { return registry_; }
  RpcServer& server() { return *listening_.server; }
  const std::string& address() const { return listening_.address; }

  // The next stream that begins. Null if none does.
  std::shared_ptr<TestStream> NextStream();

 private:
  TestStream::Behaviour behaviour_;
  StreamRegistry registry_;
  ListeningServer listening_;
};

// Opens Parameters.Exchange, raw, on `channel`.
void OpenExchange(
    const std::shared_ptr<grpc::Channel>& channel, grpc::ClientContext* context,
    grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* reactor);

// The client's side of one stream: its own connection, and what came of it.
class TestClient {
 public:
  using Stream = ClientStream<grpc::ByteBuffer, grpc::ByteBuffer>;

  // `received` may refuse a message; all of them are in the mailbox as well.
  // `may_read`: as ClientStream's.
  explicit TestClient(
      const std::string& address,
      ChannelProfile profile = ChannelProfile::kControl,
      std::function<absl::Status(const grpc::ByteBuffer&)> received = {},
      std::function<bool()> may_read = {});

  Stream& stream() { return *stream_; }

  // The next number received; -1 if the stream ends first.
  int64_t Next();
  // Waits for the end of the stream, whatever comes before.
  absl::Status AwaitEnd();
  // Destroys the stream, as its owner would.
  void Drop() { stream_.reset(); }
  int ends() const { return ends_.load(); }

 private:
  struct Ending {
    absl::Status status;
  };

  Mailbox<int64_t> received_;
  Mailbox<Ending> ended_;
  std::atomic<int> ends_ = 0;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<Stream> stream_;  // Before the channel dies.
};

}  // namespace paceline

#endif  // PACELINE_TESTS_COMMON_RPC_LOOPBACK_H_
