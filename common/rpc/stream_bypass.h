#ifndef PACELINE_COMMON_RPC_STREAM_BYPASS_H_
#define PACELINE_COMMON_RPC_STREAM_BYPASS_H_

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/lane/message_socket.h"
#include "common/rpc/write_queue.h"

namespace paceline {

// The bytes of one message, in pieces, for as long as they are being sent.
class BypassedBytes {
 public:
  void Hold(const grpc::ByteBuffer& message);
  void Hold(const google::protobuf::MessageLite& message);
  void Drop();
  absl::Span<const absl::string_view> pieces() const { return pieces_; }

 private:
  std::vector<grpc::Slice> slices_;
  std::string bytes_;
  std::vector<absl::string_view> pieces_;  // Of one of the above.
};

// The message that the bytes are. INTERNAL, as gRPC's: they are none.
absl::Status ReadBypassed(absl::string_view bytes, grpc::ByteBuffer& message);
absl::Status ReadBypassed(absl::string_view bytes,
                          google::protobuf::MessageLite& message);

// Another way for the messages of a stream between two processes of one
// machine. gRPC spends tens of microseconds, and two wake-ups, on each message
// at either end, a pair of sockets a few and one. The stream goes on: it began
// by gRPC, where both ends showed who they are, ends there with its status, and
// is known there to be alive.
//
// Each end says by gRPC, with its last message there, that everything after
// that comes by the socket. So all messages of an end stay in their order. What
// is on its way there when the stream ends may be lost.
//
// Used by ClientStream and ServerStream. Thread-safe, but for Pass().
template <class Out, class In>
class StreamBypass {
 public:
  using Queue = WriteQueue<Out>;

  // All are called by the bypass's thread, one at a time.
  struct Handlers {
    std::function<void(In&)> on_message;
    // The message of the step that Pass() has kept is written, or never will
    // be.
    std::function<void()> on_written;
    // After a Nudge().
    std::function<void()> on_nudged;
    // The peer keeps to no rules.
    std::function<void(const absl::Status&)> on_refused;
  };

  // Takes messages of `most` bytes at most.
  StreamBypass(MessageSocket::Parts socket, size_t most, Handlers handlers)
      : handlers_(std::move(handlers)),
        socket_(std::move(socket), most,
                {.on_message = [this](absl::string_view bytes) { Take(bytes); },
                 .on_sent =
                     [this] {
                       sending_.Drop();
                       handlers_.on_written();
                     },
                 .on_nudged = [this] { handlers_.on_nudged(); },
                 .on_end =
                     [this](const absl::Status& why) {
                       // Of one that is closed gRPC says more.
                       if (!why.ok()) handlers_.on_refused(why);
                     }}) {}

  // The step that is to be performed by gRPC, after `step`, `queue`'s next one:
  // those before it are performed here, once the step that is marked as the
  // last by gRPC has been handed out before. kNone if there is none, or if the
  // step is kept until `on_written`.  REQUIRES: as WriteQueue's steps.
  typename Queue::Step Pass(Queue& queue, typename Queue::Step step) {
    int sent = 0;
    while (step.kind == Queue::Step::Kind::kWrite && passing_) {
      sending_.Hold(*step.message);
      if (!socket_.Send(sending_.pieces())) return {};
      sending_.Drop();
      ++sent;
      step = queue.Written();
    }
    // Others have left theirs to whoever was sending, and may wait for room.
    if (sent > 1) socket_.Nudge();
    if (step.kind == Queue::Step::Kind::kWrite && step.last) left_ = true;
    return step;
  }
  // gRPC has written the message of a step that Pass() returned.
  void WrittenByGrpc() { passing_ = left_; }

  void ReadOn() { socket_.ReadOn(); }
  void Pause() { socket_.Pause(); }
  void Nudge() { socket_.Nudge(); }
  // The stream is over, so nothing that is under way will be of use. Stop()
  // also waits until no handler runs, or will; not from a handler.
  void End() { socket_.End(); }
  void Stop() { socket_.Stop(); }

 private:
  void Take(absl::string_view bytes) {
    In message;
    const absl::Status read = ReadBypassed(bytes, message);
    if (!read.ok()) return handlers_.on_refused(read);
    handlers_.on_message(message);
  }

  const Handlers handlers_;
  // Only whoever performs a step uses these.
  bool left_ = false;      // The last message by gRPC is handed out,
  bool passing_ = false;   // and written.
  BypassedBytes sending_;  // Of the step that is kept.
  MessageSocket socket_;   // Last: its handlers use the above.
};

}  // namespace paceline

#endif  // PACELINE_COMMON_RPC_STREAM_BYPASS_H_
