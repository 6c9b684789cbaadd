#ifndef PACELINE_SERVICES_CLI_ADMIN_UNARY_CALL_H_
#define PACELINE_SERVICES_CLI_ADMIN_UNARY_CALL_H_

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <memory>
#include <utility>

#include "absl/synchronization/notification.h"
#include "services/cli/admin/waker.h"

namespace paceline {

// Waits for the end of one call. A reactor and no std::function: gRPC lets go
// of the call before OnDone(), so that the channel dies with its owner and not
// in a reaction, which gRPC does not survive (grpc/grpc#37198).
class UnaryCall : public grpc::ClientUnaryReactor {
 public:
  explicit UnaryCall(std::shared_ptr<Waker> waker) : waker_(std::move(waker)) {}

  // Blocks. An interruption cancels the call.
  grpc::Status Await(grpc::ClientContext& context) {
    while (!done_.HasBeenNotified()) {
      if (waker_->signal() != 0) {
        context.TryCancel();
        done_.WaitForNotification();
      } else {
        waker_->Wait(absl::InfiniteFuture());
      }
    }
    return status_;
  }

 private:
  void OnDone(const grpc::Status& status) override {
    status_ = status;
    // This object may be gone as soon as it is notified.
    const std::shared_ptr<Waker> waker = waker_;
    done_.Notify();
    waker->Wake();
  }

  const std::shared_ptr<Waker> waker_;
  grpc::Status status_;
  absl::Notification done_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_UNARY_CALL_H_
