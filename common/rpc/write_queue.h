#ifndef PACELINE_COMMON_RPC_WRITE_QUEUE_H_
#define PACELINE_COMMON_RPC_WRITE_QUEUE_H_

#include <cstddef>
#include <deque>
#include <limits>
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
    // For kWrite: another one follows at once, and what has been handed out is
    // little, so that the transport may wait and send both together.
    bool more = false;
    bool last = false;  // For kWrite, as given to Send().
  };

  // A peer that lets more than `max_messages`, or `max_bytes` of them, pile up
  // does not read. One message may be larger than that.
  explicit WriteQueue(size_t max_messages,
                      size_t max_bytes = std::numeric_limits<size_t>::max())
      : max_messages_(max_messages), max_bytes_(max_bytes) {}

  // As `carries`: the message is to leave at once.
  static constexpr size_t kUrgent = std::numeric_limits<size_t>::max();

  // Queues `message` of `bytes`. It is dropped once the queue is closed; a full
  // queue closes itself with RESOURCE_EXHAUSTED. `carries`: the bytes that it
  // gives the peer to work on, its own or in memory that both share. `last`:
  // those after it go another way.
  Step Send(Message message, size_t bytes = 0, size_t carries = kUrgent,
            bool last = false) {
    absl::MutexLock lock(&mu_);
    if (closed_) return {};
    if (outgoing_.size() >= max_messages_ ||
        (!outgoing_.empty() &&
         (bytes_ > max_bytes_ || bytes > max_bytes_ - bytes_))) {
      CloseLocked(absl::ResourceExhaustedError(
          "the peer does not read: too much waits to be sent to it"));
    } else {
      outgoing_.push_back({std::move(message), bytes, carries, last});
      bytes_ += bytes;
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
    bytes_ -= outgoing_.front().bytes;
    outgoing_.pop_front();
    return NextLocked();
  }

  bool closed() const {
    absl::MutexLock lock(&mu_);
    return closed_;
  }

  // Messages that are not written yet, the one being written included.
  size_t size() const {
    absl::MutexLock lock(&mu_);
    return outgoing_.size();
  }

 private:
  struct Entry {
    Message message;
    size_t bytes = 0;
    size_t carries = kUrgent;
    bool last = false;
  };

  // So much may wait for what follows. A peer that gets more at once begins
  // later with the first of it, which costs more than calls of the system.
  static constexpr size_t kMostGathered = size_t{64} << 10;

  void CloseLocked(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (closed_) return;
    closed_ = true;
    if (!status.ok()) DropUnsent();
    status_ = std::move(status);
  }

  // The front may be lent to the transport.
  void DropUnsent() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const auto unsent = outgoing_.begin() + (writing_ ? 1 : 0);
    for (auto it = unsent; it != outgoing_.end(); ++it) bytes_ -= it->bytes;
    outgoing_.erase(unsent, outgoing_.end());
  }

  Step NextLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (writing_ || finished_) return {};
    if (!outgoing_.empty()) {
      writing_ = true;
      const Entry& next = outgoing_.front();
      const bool more = outgoing_.size() > 1 && !next.last &&
                        next.carries < kMostGathered - gathered_;
      gathered_ = more ? gathered_ + next.carries : 0;
      return {Step::Kind::kWrite, &next.message, absl::OkStatus(), more,
              next.last};
    }
    if (!closed_) return {};
    finished_ = true;
    return {Step::Kind::kFinish, nullptr, status_, false, false};
  }

  const size_t max_messages_;
  const size_t max_bytes_;
  mutable absl::Mutex mu_;
  // A deque, because a message lent out must not move when others come.
  std::deque<Entry> outgoing_ ABSL_GUARDED_BY(mu_);
  size_t bytes_ ABSL_GUARDED_BY(mu_) = 0;     // What outgoing_ holds.
  size_t gathered_ ABSL_GUARDED_BY(mu_) = 0;  // Carried by what may wait.
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_COMMON_RPC_WRITE_QUEUE_H_
