#ifndef PACELINE_COMMON_RPC_STREAM_BYPASS_H_
#define PACELINE_COMMON_RPC_STREAM_BYPASS_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/lane/message_socket.h"
#include "common/rpc/write_queue.h"

namespace paceline {

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
class StreamBypass {
 public:
  using Queue = WriteQueue<grpc::ByteBuffer>;

  // All are called by the bypass's thread, one at a time.
  struct Handlers {
    std::function<void(grpc::ByteBuffer&)> on_message;
    // The message of the step that Pass() has kept is written, or never will
    // be.
    std::function<void()> on_written;
    // After a Nudge().
    std::function<void()> on_nudged;
    // The peer keeps to no rules.
    std::function<void(const absl::Status&)> on_refused;
  };

  StreamBypass(MessageSocket::Parts socket, Handlers handlers);

  // The step that is to be performed by gRPC, after `step`, `queue`'s next one:
  // those before it are performed here, once the step that is marked as the
  // last by gRPC has been handed out before. kNone if there is none, or if the
  // step is kept until `on_written`.  REQUIRES: as WriteQueue's steps.
  Queue::Step Pass(Queue& queue, Queue::Step step);
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
  bool Send(const grpc::ByteBuffer& message);

  // Only whoever performs a step uses these.
  bool left_ = false;                 // The last message by gRPC is handed out,
  bool passing_ = false;              // and written.
  std::vector<grpc::Slice> sending_;  // Of the step that is kept.
  MessageSocket socket_;              // Last: its handlers use the above.
};

}  // namespace paceline

#endif  // PACELINE_COMMON_RPC_STREAM_BYPASS_H_
