#include "common/rpc/stream_bypass.h"

#include <utility>

#include "common/rpc/message_bytes.h"

namespace paceline {
namespace {

MessageSocket::Handlers HandlersOf(StreamBypass::Handlers handlers,
                                   std::vector<grpc::Slice>* sending) {
  MessageSocket::Handlers of;
  of.on_message =
      [on_message = std::move(handlers.on_message)](absl::string_view bytes) {
        grpc::Slice slice(bytes.data(), bytes.size());
        grpc::ByteBuffer message(&slice, 1);
        on_message(message);
      };
  of.on_sent = [sending, on_written = std::move(handlers.on_written)] {
    sending->clear();
    on_written();
  };
  of.on_nudged = std::move(handlers.on_nudged);
  of.on_end = [on_refused =
                   std::move(handlers.on_refused)](const absl::Status& why) {
    // Of one that is closed gRPC says more.
    if (!why.ok()) on_refused(why);
  };
  return of;
}

}  // namespace

StreamBypass::StreamBypass(MessageSocket::Parts socket, Handlers handlers)
    : socket_(std::move(socket), kMaxFrameBytes,
              HandlersOf(std::move(handlers), &sending_)) {}

StreamBypass::Queue::Step StreamBypass::Pass(Queue& queue, Queue::Step step) {
  int sent = 0;
  while (step.kind == Queue::Step::Kind::kWrite && passing_) {
    if (!Send(*step.message)) return {};
    ++sent;
    step = queue.Written();
  }
  // Others have left theirs to whoever was sending, and may wait for room.
  if (sent > 1) socket_.Nudge();
  if (step.kind == Queue::Step::Kind::kWrite && step.last) left_ = true;
  return step;
}

bool StreamBypass::Send(const grpc::ByteBuffer& message) {
  if (!message.Dump(&sending_).ok()) return true;  // Never, for a message.
  std::vector<absl::string_view> pieces;
  for (const grpc::Slice& slice : sending_) {
    pieces.emplace_back(reinterpret_cast<const char*>(slice.begin()),
                        slice.size());
  }
  if (!socket_.Send(pieces)) return false;
  sending_.clear();
  return true;
}

}  // namespace paceline
