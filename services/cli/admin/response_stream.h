#ifndef PACELINE_SERVICES_CLI_ADMIN_RESPONSE_STREAM_H_
#define PACELINE_SERVICES_CLI_ADMIN_RESPONSE_STREAM_H_

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "services/cli/admin/waker.h"

namespace paceline {

// A stream of responses that one thread reads, one at a time: while it does
// not, nothing is read from the network. Used by the main thread alone.
//
// The destructor cancels what still runs and waits until gRPC has let go.
template <class Response>
class ResponseStream : public grpc::ClientReadReactor<Response> {
 public:
  // Binds the call to the reactor.
  using Open = std::function<void(grpc::ClientContext*,
                                  grpc::ClientReadReactor<Response>*)>;

  // Starts the call, which lasts until `deadline` at most.
  ResponseStream(std::shared_ptr<Waker> waker, absl::Time deadline,
                 const Open& open)
      : waker_(std::move(waker)) {
    context_.set_deadline(absl::ToChronoTime(deadline));
    open(&context_, this);
    // For the reads that the main thread starts; removed by the last one.
    this->AddHold();
    this->StartRead(&incoming_);
    this->StartCall();
  }

  ~ResponseStream() override {
    context_.TryCancel();
    bool resume = false;
    {
      absl::MutexLock lock(&mu_);
      cancelled_ = true;
      resume = std::exchange(has_message_, false);
    }
    // Reads until the cancelling shows.
    if (resume) this->StartRead(&incoming_);
    done_.WaitForNotification();
  }

  enum class Event { kMessage, kEnded, kTimeout, kInterrupted };

  // Waits for the next message, which is moved to `message`, until `until`.
  Event Next(absl::Time until, Response* message) {
    for (;;) {
      if (Take(message)) return Event::kMessage;
      if (done_.HasBeenNotified()) return Event::kEnded;
      if (waker_->signal() != 0) return Event::kInterrupted;
      if (absl::Now() >= until) return Event::kTimeout;
      waker_->Wait(until);
    }
  }

  // How it ended.  REQUIRES: Next() has returned kEnded.
  const grpc::Status& status() const { return status_; }

 private:
  bool Take(Response* message) {
    {
      absl::MutexLock lock(&mu_);
      if (!has_message_) return false;
      has_message_ = false;
      *message = std::move(incoming_);
      incoming_ = Response();
    }
    this->StartRead(&incoming_);
    return true;
  }

  void OnReadDone(bool ok) override {
    if (!ok) return this->RemoveHold();
    bool cancelled = false;
    {
      absl::MutexLock lock(&mu_);
      cancelled = cancelled_;
      has_message_ = !cancelled;
    }
    if (cancelled) return this->StartRead(&incoming_);
    waker_->Wake();
  }

  void OnDone(const grpc::Status& status) override {
    status_ = status;
    // This object may be gone as soon as it is notified.
    const std::shared_ptr<Waker> waker = waker_;
    done_.Notify();
    waker->Wake();
  }

  const std::shared_ptr<Waker> waker_;
  grpc::ClientContext context_;
  absl::Mutex mu_;
  bool has_message_ ABSL_GUARDED_BY(mu_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  // gRPC's while a read is under way, and ours while `has_message_`.
  Response incoming_;
  grpc::Status status_;
  absl::Notification done_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_RESPONSE_STREAM_H_
