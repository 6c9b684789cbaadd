#ifndef PACELINE_COMMON_RPC_CLIENT_STREAM_H_
#define PACELINE_COMMON_RPC_CLIENT_STREAM_H_

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "common/check.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/message_bytes.h"
#include "common/rpc/stream_bypass.h"
#include "common/rpc/write_queue.h"

namespace paceline {

// The client's side of one bidirectional stream.
//
// Lifetime: the destructor cancels what still runs and waits until gRPC has let
// go, so it must not run in a reaction. The channel then dies with its owner,
// not in a reaction either, which gRPC does not survive (grpc/grpc#37198).
//
// Thread-safe: Send(), FinishWrites() and Cancel() from any thread. The
// handlers are reactions and must not block; they come one at a time, but for
// `on_sent`, which may come beside the others.
template <class Out, class In>
class ClientStream : public grpc::ClientBidiReactor<Out, In> {
 public:
  struct Handlers {
    // A status that is not OK cancels the stream.
    std::function<absl::Status(In&)> on_message;
    // Once, last: how the stream ended, or the status that `on_message` gave.
    std::function<void(const absl::Status&)> on_disconnected;
    // A message has gone out; may be empty.
    std::function<void()> on_sent = {};
    // Asked after each message whether the next may be read; may be empty.
    // After a "no" nothing is read until ReadOn(), so that what the peer sends
    // piles up at the peer, whose own limit it then reaches.
    std::function<bool()> may_read = {};
  };
  // Binds the call to the reactor.
  using Open = std::function<void(grpc::ClientContext*,
                                  grpc::ClientBidiReactor<Out, In>*)>;

  // Starts the call.
  ClientStream(size_t max_queued, Handlers handlers, const Open& open)
      : queue_(max_queued), handlers_(std::move(handlers)) {
    open(&context_, this);
    // For the writes that others start while no reaction runs; removed when
    // the queue has handed out its last step.
    this->AddHold();
    this->StartRead(&incoming_);
    this->StartCall();
  }

  ~ClientStream() override {
    Cancel();
    // After the cancelling gRPC has nothing left to wait for.
    CHECK(done_.WaitForNotificationWithTimeout(absl::Minutes(1)));
  }

  // `carries`: as WriteQueue::Send().
  void Send(Out message, size_t carries = WriteQueue<Out>::kUrgent) {
    Perform(queue_.Send(std::move(message), /*bytes=*/0, carries));
  }

  // In `on_message` of the peer's last message by gRPC: what comes after that,
  // and what is sent after `last`, goes by that socket, as StreamBypass has it.
  // `on_sent` is told of what had to wait for room. Once at most.
  void Bypass(MessageSocket::Parts socket, Out last) {
    CHECK(bypass_ == nullptr);
    bypass_owner_ = std::make_unique<Bypassing>(
        std::move(socket), kMostReplyBytes<In>,
        typename Bypassing::Handlers{
            [this](In& message) {
              Take(message);
              PauseBypass();
            },
            [this] {
              Perform(queue_.Written());
              if (handlers_.on_sent) handlers_.on_sent();
            },
            [] {}, [this](const absl::Status& status) { Refuse(status); }});
    bypass_ = bypass_owner_.get();
    Perform(queue_.Send(std::move(last), /*bytes=*/0, Queue::kUrgent,
                        /*last=*/true));
  }

  bool bypassed() const { return bypass_ != nullptr; }

  // Sends what is queued, then tells the peer that no more comes. What goes by
  // a bypass may be lost then.
  void FinishWrites() { Perform(queue_.Close(absl::OkStatus())); }

  // Ends the call at once.
  void Cancel() {
    context_.TryCancel();
    EndBypass();
    {
      absl::MutexLock lock(&reading_mu_);
      cancelled_ = true;
    }
    ReadOn();  // gRPC tells the end of a call to whoever reads.
  }

  // There may be room again: reads on if `may_read` had said no and now says
  // yes. Its owner calls it after it has made room.
  void ReadOn() {
    {
      absl::MutexLock lock(&reading_mu_);
      if (!paused_ || (!cancelled_ && !handlers_.may_read())) return;
      paused_ = false;
    }
    if (reads_bypass_) return bypass_.load()->ReadOn();
    this->StartRead(&incoming_);
    this->RemoveHold();
  }

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
        return this->StartWrite(step.message, FlagsOf(step));
      case Queue::Step::Kind::kFinish:
        // An overfull queue is the one way to a status that is not OK here.
        if (!step.status.ok()) Cancel();
        this->StartWritesDone();
        return this->RemoveHold();
    }
  }

  // What is small goes out together, in one call of the system.
  static grpc::WriteOptions FlagsOf(const typename Queue::Step& step) {
    grpc::WriteOptions flags;
    if (step.more) flags.set_buffer_hint();
    return flags;
  }

  void OnReadDone(bool ok) final {
    if (!ok) {
      Perform(queue_.Abandon(absl::OkStatus()));
      return EndBypass();
    }
    if (reads_bypass_) {
      // Nobody reads for the end of the call now.
      goes_on_by_grpc_ = true;
      context_.TryCancel();
      Perform(queue_.Abandon(absl::OkStatus()));
      return EndBypass();
    }
    Take(incoming_);
    incoming_ = In();
    if (Bypassing* const bypass = bypass_) {
      reads_bypass_ = true;
      // gRPC tells the end of a call to whoever reads.
      this->StartRead(&incoming_);
      bypass->ReadOn();
      return PauseBypass();
    }
    if (!Pause()) this->StartRead(&incoming_);
  }

  void Take(In& message) {
    if (refused_.ok()) Refuse(handlers_.on_message(message));
  }

  void Refuse(const absl::Status& why) {
    refused_ = why;
    if (!refused_.ok()) context_.TryCancel();
  }

  // What is under way there is of no use.
  void EndBypass() {
    if (Bypassing* const bypass = bypass_) bypass->End();
  }

  // Whether to stop reading for now.
  bool Pause() {
    if (!handlers_.may_read || !refused_.ok()) return false;
    // ReadOn() comes after whatever makes room, so it either sees `paused_` or
    // has made room before this asks.
    absl::MutexLock lock(&reading_mu_);
    if (cancelled_ || handlers_.may_read()) return false;
    this->AddHold();  // gRPC waits for the next read, which others will start.
    paused_ = true;
    return true;
  }

  void PauseBypass() {
    if (!handlers_.may_read) return;
    // As in Pause(), but that gRPC reads on.
    absl::MutexLock lock(&reading_mu_);
    if (cancelled_ || handlers_.may_read()) return;
    bypass_.load()->Pause();
    paused_ = true;
  }

  void OnWriteDone(bool ok) final {
    if (Bypassing* const bypass = bypass_) bypass->WrittenByGrpc();
    Perform(queue_.Written());
    if (!ok) return Perform(queue_.Abandon(absl::OkStatus()));
    if (handlers_.on_sent) handlers_.on_sent();
  }

  void OnDone(const grpc::Status& status) final {
    if (Bypassing* const bypass = bypass_) bypass->Stop();
    if (goes_on_by_grpc_) {
      refused_.Update(absl::InvalidArgumentError("a message after the last"));
    }
    handlers_.on_disconnected(refused_.ok() ? FromGrpc(status) : refused_);
    done_.Notify();  // The destructor may go on from here.
  }

  grpc::ClientContext context_;
  Queue queue_;
  const Handlers handlers_;
  In incoming_;
  absl::Status refused_;  // Only the reading reactions use it, one at a time.
  // The peer's last message by gRPC has come; and another, which gRPC's
  // reactions alone look at.
  std::atomic<bool> reads_bypass_ = false;
  bool goes_on_by_grpc_ = false;
  absl::Mutex reading_mu_;
  bool paused_ ABSL_GUARDED_BY(reading_mu_) = false;
  bool cancelled_ ABSL_GUARDED_BY(reading_mu_) = false;
  absl::Notification done_;
  std::atomic<Bypassing*> bypass_ = nullptr;  // Once there is one.
  std::unique_ptr<Bypassing> bypass_owner_;   // Last: it uses the above.
};

}  // namespace paceline

#endif  // PACELINE_COMMON_RPC_CLIENT_STREAM_H_
