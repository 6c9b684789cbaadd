#ifndef PACELINE_COMMON_RPC_WRITE_QUEUE_H_
#define PACELINE_COMMON_RPC_WRITE_QUEUE_H_

#include <cstddef>
#include <deque>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace paceline {

// The outgoing half of a stream: gRPC allows one write at a time and counts the
// end of the stream as a write, so everybody who sends goes through here and
// performs at most one returned Step at a time. Knows nothing of gRPC.
//
// Thread-safe. A Step that is not kNone must be performed by the caller that
// received it, then reported with Written() (for kWrite); no other Step is
// handed out in between.
template <class Message>
class WriteQueue {
 public:
  struct Step {
    enum class Kind { kNone, kWrite, kFinish } kind = Kind::kNone;
    const Message* message = nullptr;  // For kWrite; stays put until Written().
    absl::Status status;               // For kFinish.
  };

  // A peer that lets more than `max_messages` pile up does not read.
  explicit WriteQueue(size_t max_messages) : max_messages_(max_messages) {}

  // Queues `message`. It is dropped once the queue is closed; a full queue
  // closes itself with RESOURCE_EXHAUSTED.
  Step Send(Message message) {
    absl::MutexLock lock(&mu_);
    if (closed_) return {};
    if (outgoing_.size() >= max_messages_) {
      CloseLocked(absl::ResourceExhaustedError(
          "the peer does not read: too many messages wait to be sent to it"));
    } else {
      outgoing_.push_back(std::move(message));
    }
    return NextLocked();
  }

  // Ends the stream: the first status wins. With OK what is queued is still
  // sent; otherwise it is dropped.
  Step Close(absl::Status status) {
    absl::MutexLock lock(&mu_);
    CloseLocked(std::move(status));
    return NextLocked();
  }

  // The peer or the transport is gone: what is queued cannot be sent any more.
  // The stream still finishes, with the status given first.
  Step Abandon(absl::Status status) {
    absl::MutexLock lock(&mu_);
    CloseLocked(std::move(status));
    DropUnsent();
    return NextLocked();
  }

  // The write of the last kWrite step is over.
  Step Written() {
    absl::MutexLock lock(&mu_);
    writing_ = false;
    outgoing_.pop_front();
    return NextLocked();
  }

  bool closed() const {
    absl::MutexLock lock(&mu_);
    return closed_;
  }

 private:
  void CloseLocked(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (closed_) return;
    closed_ = true;
    if (!status.ok()) DropUnsent();
    status_ = std::move(status);
  }

  // The front may be lent to the transport.
  void DropUnsent() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    outgoing_.erase(outgoing_.begin() + (writing_ ? 1 : 0), outgoing_.end());
  }

  Step NextLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (writing_ || finished_) return {};
    if (!outgoing_.empty()) {
      writing_ = true;
      return {Step::Kind::kWrite, &outgoing_.front(), absl::OkStatus()};
    }
    if (!closed_) return {};
    finished_ = true;
    return {Step::Kind::kFinish, nullptr, status_};
  }

  const size_t max_messages_;
  mutable absl::Mutex mu_;
  // A deque, because a message lent out must not move when others come.
  std::deque<Message> outgoing_ ABSL_GUARDED_BY(mu_);
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_COMMON_RPC_WRITE_QUEUE_H_
