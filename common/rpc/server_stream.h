#ifndef PACELINE_COMMON_RPC_SERVER_STREAM_H_
#define PACELINE_COMMON_RPC_SERVER_STREAM_H_

#include <grpcpp/support/server_callback.h>

#include <memory>
#include <utility>

#include "common/rpc/grpc_status.h"
#include "common/rpc/stream_registry.h"
#include "common/rpc/write_queue.h"

namespace paceline {

// The server's side of one bidirectional stream. Derived classes say what a
// message means; this one obeys gRPC's rules for reactors.
//
// Lifetime: a StreamRegistry owns it from Begin() to OnDone(). Whoever calls in
// from outside a reaction holds a shared_ptr for that long, because Finish()
// lets OnDone() run on another thread before it has returned.
//
// Thread-safe: Send() and Close() from any thread. Received() and Ended() are
// reactions: they come one at a time and must not block.
template <class In, class Out>
class ServerStream : public grpc::ServerBidiReactor<In, Out>,
                     public OpenStream {
 public:
  explicit ServerStream(size_t max_queued) : queue_(max_queued) {}

  // Puts the stream into `registry` and starts to read.
  void Begin(StreamRegistry* registry) {
    registry_ = registry;
    registry->Add(this->shared_from_this());
    this->StartRead(&incoming_);
  }

  // Queues one message; dropped once the stream is closing.
  void Send(Out message) { Perform(queue_.Send(std::move(message))); }

  // Ends the stream; the first status wins. OK sends what is queued first.
  void Close(const absl::Status& status) override {
    Perform(queue_.Close(status));
  }

 protected:
  // One message of the peer. A status that is not OK closes the stream.
  virtual absl::Status Received(In& message) = 0;

  // The stream is over; nothing is received afterwards. Once.
  virtual void Ended() = 0;

 private:
  using Queue = WriteQueue<Out>;

  void Perform(typename Queue::Step step) {
    switch (step.kind) {
      case Queue::Step::Kind::kNone:
        return;
      case Queue::Step::Kind::kWrite:
        // Lent to gRPC until OnWriteDone().
        return this->StartWrite(step.message);
      case Queue::Step::Kind::kFinish:
        return this->Finish(ToGrpc(step.status));
    }
  }

  void OnReadDone(bool ok) final {
    if (!ok) {  // The peer is done writing, or gone.
      Perform(queue_.Close(absl::OkStatus()));
      return;
    }
    const absl::Status status = Received(incoming_);
    if (!status.ok()) {
      Perform(queue_.Close(status));
      return;
    }
    incoming_ = In();
    this->StartRead(&incoming_);
  }

  void OnWriteDone(bool ok) final {
    Perform(queue_.Written());
    if (!ok) {
      Perform(queue_.Abandon(absl::UnavailableError("the peer is gone")));
    }
  }

  // Even a cancelled call needs its Finish(), or the server never shuts down.
  void OnCancel() final {
    Perform(queue_.Abandon(absl::CancelledError("the stream was cancelled")));
  }

  void OnDone() final {
    Ended();
    registry_->Remove(this);  // May delete this.
  }

  Queue queue_;
  In incoming_;
  StreamRegistry* registry_ = nullptr;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_RPC_SERVER_STREAM_H_
