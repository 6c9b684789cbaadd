#ifndef PACELINE_COMMON_RPC_SERVER_STREAM_H_
#define PACELINE_COMMON_RPC_SERVER_STREAM_H_

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/check.h"
#include "common/connections/connection_accounts.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/message_bytes.h"
#include "common/rpc/stream_bypass.h"
#include "common/rpc/stream_registry.h"
#include "common/rpc/write_queue.h"

namespace paceline {

// A call that is not let in: it ends at once, with `status`. Deletes itself.
template <class Reactor>
class RefusedCall : public Reactor {
 public:
  explicit RefusedCall(const absl::Status& status) {
    this->Finish(ToGrpc(status));
  }
  void OnDone() override { delete this; }
};

// The server's side of one bidirectional stream. Derived classes say what a
// message means; this one obeys gRPC's rules for reactors.
//
// Lifetime: a StreamRegistry owns it from Begin() to OnDone(). Whoever calls in
// from outside a reaction holds a shared_ptr for that long, because Finish()
// lets OnDone() run on another thread before it has returned.
//
// Thread-safe: Send() and Close() from any thread. The virtual methods are
// reactions and must not block; they come one at a time, but for OnSent(),
// which may come beside the others.
template <class In, class Out>
class ServerStream : public grpc::ServerBidiReactor<In, Out>,
                     public OutgoingStream<Out> {
 public:
  // What may wait for a peer that does not read.
  static constexpr size_t kMaxQueuedBytes = size_t{256} << 20;

  explicit ServerStream(size_t max_queued,
                        size_t max_queued_bytes = kMaxQueuedBytes)
      : queue_(max_queued, max_queued_bytes) {}

  // Puts the stream into `registry` and starts to read. What is read counts
  // for `account`, that of its connection, which may be null.
  void Begin(StreamRegistry* registry,
             std::shared_ptr<ConnectionAccount> account = nullptr) {
    registry_ = registry;
    account_ = std::move(account);
    registry->Add(this->shared_from_this());
    this->StartRead(&incoming_);
  }

  void Send(Out message) override {
    Send(std::move(message), WriteQueue<Out>::kUrgent);
  }
  // `carries`: as WriteQueue::Send().
  void Send(Out message, size_t carries) {
    const size_t bytes = MessageBytes(message);
    Perform(queue_.Send(std::move(message), bytes, carries));
  }

  // Ends the stream; the first status wins. OK sends what is queued first, of
  // which what goes by a bypass may be lost.
  void Close(const absl::Status& status) override {
    Perform(queue_.Close(status));
    if (!status.ok()) EndBypass();
  }

 protected:
  // One message of the peer. A status that is not OK closes the stream.
  virtual absl::Status OnMessage(In& message) = 0;

  // The stream is over; nothing is received afterwards. Once.
  virtual void OnDisconnected() = 0;

  // The peer sends no more, or is gone.
  virtual void OnPeerDone() { Close(absl::OkStatus()); }

  // There is room for another message: one that waited has gone out.
  virtual void OnSent() {}
  // Has OnSent() called soon, for who has more to send and shall not do it now.
  void SendMoreSoon() {
    if (Bypassing* const bypass = bypass_) bypass->Nudge();
  }

  // Asked after each message whether the next may be read now. Whoever says no
  // sees to it that ReadOn() is called, once: until then what the peer sends
  // piles up there.
  virtual bool MayRead() { return true; }
  void ReadOn() {
    if (reads_bypass_) return bypass_.load()->ReadOn();
    // From outside a reaction, where only Finish() lets gRPC end the call.
    absl::MutexLock lock(&finish_mu_);
    if (!finished_) this->StartRead(&incoming_);
  }

  // What is sent after `last` goes by that socket, as StreamBypass has it. Once
  // at most, from any thread.
  void Bypass(MessageSocket::Parts socket, Out last) {
    CHECK(bypass_ == nullptr);
    bypass_owner_ = std::make_unique<Bypassing>(
        std::move(socket), kMostRequestBytes<In>,
        typename Bypassing::Handlers{
            [this](In& message) { TakeBypassed(message); },
            [this] {
              Perform(queue_.Written());
              OnSent();
            },
            [this] { OnSent(); },
            [this](const absl::Status& status) { Close(status); }});
    bypass_ = bypass_owner_.get();
    const size_t bytes = MessageBytes(last);
    Perform(queue_.Send(std::move(last), bytes, Queue::kUrgent, /*last=*/true));
  }
  // In OnMessage(): the message in hand is the peer's last one by gRPC.
  // INVALID_ARGUMENT if there is no socket.
  absl::Status ReadBypass() {
    if (!bypassed()) {
      return absl::InvalidArgumentError("no socket was handed over");
    }
    reads_bypass_ = true;
    return absl::OkStatus();
  }
  bool bypassed() const { return bypass_ != nullptr; }

  // Messages that wait, the one on its way included.
  size_t queued() const { return queue_.size(); }
  // Nothing that is sent from now on goes out.
  bool closing() const { return queue_.closed(); }

 private:
  using Queue = WriteQueue<Out>;
  using Bypassing = StreamBypass<Out, In>;

  void Perform(typename Queue::Step step) {
    Bypassing* const bypass = bypass_;
    if (bypass != nullptr) step = bypass->Pass(queue_, std::move(step));
    switch (step.kind) {
      case Queue::Step::Kind::kNone:
        return;
      case Queue::Step::Kind::kWrite:
        // Lent to gRPC until OnWriteDone().
        return this->StartWrite(step.message, FlagsOf(step));
      case Queue::Step::Kind::kFinish: {
        {
          absl::MutexLock lock(&finish_mu_);
          finished_ = true;
        }
        return this->Finish(ToGrpc(step.status));
      }
    }
  }

  // What is small goes out together, in one call of the system.
  static grpc::WriteOptions FlagsOf(const typename Queue::Step& step) {
    grpc::WriteOptions flags;
    if (step.more) flags.set_buffer_hint();
    return flags;
  }

  void OnReadDone(bool ok) final {
    if (!ok) return OnPeerDone();
    if (reads_bypass_) {
      return Close(absl::InvalidArgumentError("a message after the last"));
    }
    if (account_ != nullptr) account_->Take(MessageBytes(incoming_));
    const absl::Status status = OnMessage(incoming_);
    if (!status.ok()) return Close(status);
    // Only now: whoever opens a stream has shown credentials, and nothing that
    // the stream is for.
    if (account_ != nullptr) account_->Authorize();
    incoming_ = In();
    if (reads_bypass_) {
      // gRPC tells the end of a call to whoever reads.
      this->StartRead(&incoming_);
      return ReadBypassed();
    }
    if (MayRead()) this->StartRead(&incoming_);
  }

  // From now on, or when there is room. ReadOn() comes after a "no".
  void ReadBypassed() {
    if (MayRead()) bypass_.load()->ReadOn();
  }

  // In the bypass's thread.
  void TakeBypassed(In& message) {
    const absl::Status status = OnMessage(message);
    if (!status.ok()) return Close(status);
    bypass_.load()->Pause();
    ReadBypassed();
  }

  // What is under way there is of no use.
  void EndBypass() {
    if (Bypassing* const bypass = bypass_) bypass->End();
  }

  void OnWriteDone(bool ok) final {
    if (Bypassing* const bypass = bypass_) bypass->WrittenByGrpc();
    Perform(queue_.Written());
    if (ok) return OnSent();
    Perform(queue_.Abandon(absl::UnavailableError("the peer is gone")));
  }

  // Even a cancelled call needs its Finish(), or the server never shuts down.
  void OnCancel() final {
    Perform(queue_.Abandon(absl::CancelledError("the stream was cancelled")));
    EndBypass();
  }

  void OnDone() final {
    if (Bypassing* const bypass = bypass_) bypass->Stop();
    OnDisconnected();
    registry_->Remove(this);  // May delete this.
  }

  Queue queue_;
  In incoming_;
  absl::Mutex finish_mu_;
  bool finished_ ABSL_GUARDED_BY(finish_mu_) = false;  // Or is about to be.
  StreamRegistry* registry_ = nullptr;
  std::shared_ptr<ConnectionAccount> account_;
  std::atomic<bool> reads_bypass_ = false;
  std::atomic<Bypassing*> bypass_ = nullptr;  // Once there is one.
  std::unique_ptr<Bypassing> bypass_owner_;   // Last: it uses the above.
};

}  // namespace paceline

#endif  // PACELINE_COMMON_RPC_SERVER_STREAM_H_
