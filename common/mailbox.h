#ifndef PACELINE_COMMON_MAILBOX_H_
#define PACELINE_COMMON_MAILBOX_H_

#include <cstddef>
#include <deque>
#include <limits>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace paceline {

// Messages from reactions, which must not block, to a thread that waits for
// them. Closing it keeps what has come and ends the waiting. Thread-safe.
//
// A mailbox that is full still takes a message, because whoever puts it there
// cannot wait. It is the source that has to stop while full() says so
// (ClientStream::Handlers::may_read), and to go on after a Take().
template <class Message>
class Mailbox {
 public:
  explicit Mailbox(size_t capacity = std::numeric_limits<size_t>::max())
      : capacity_(capacity) {}

  // Whether as many messages wait as may. A closed mailbox, which drops what
  // comes, is never full.
  bool full() const {
    absl::MutexLock lock(&mu_);
    return messages_.size() >= capacity_ && !closed_.has_value();
  }

  // Dropped once the mailbox is closed.
  void Put(Message message) {
    absl::MutexLock lock(&mu_);
    if (closed_.has_value()) return;
    messages_.push_back(std::move(message));
  }

  // The first reason wins; it may be OK.
  void Close(absl::Status reason) {
    absl::MutexLock lock(&mu_);
    if (!closed_.has_value()) closed_ = std::move(reason);
  }

  // The oldest message; after the last one the reason of the closing (CANCELLED
  // if that was OK); DEADLINE_EXCEEDED if neither came in time.
  absl::StatusOr<Message> Take(absl::Duration timeout) {
    absl::MutexLock lock(&mu_);
    AwaitLocked(timeout);
    if (!messages_.empty()) {
      Message message = std::move(messages_.front());
      messages_.pop_front();
      return message;
    }
    if (!closed_.has_value()) {
      return absl::DeadlineExceededError("nothing came in time");
    }
    if (closed_->ok()) return absl::CancelledError("the stream has ended");
    return *closed_;
  }

  // The oldest message if there is one and `wanted` is true of it.
  template <class Wanted>
  std::optional<Message> TakeIf(Wanted wanted) {
    absl::MutexLock lock(&mu_);
    if (messages_.empty() || !wanted(std::as_const(messages_.front()))) {
      return std::nullopt;
    }
    Message message = std::move(messages_.front());
    messages_.pop_front();
    return message;
  }

  // Waits for a message or the closing without taking it. False on time-out.
  bool Await(absl::Duration timeout) {
    absl::MutexLock lock(&mu_);
    return AwaitLocked(timeout);
  }

  bool closed() const {
    absl::MutexLock lock(&mu_);
    return closed_.has_value();
  }

 private:
  bool Something() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return !messages_.empty() || closed_.has_value();
  }

  bool AwaitLocked(absl::Duration timeout) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    // A mutex sleeps for a timeout of zero, too: some 60 us, by Linux's timers.
    if (timeout <= absl::ZeroDuration()) return Something();
    return mu_.AwaitWithTimeout(absl::Condition(this, &Mailbox::Something),
                                timeout);
  }

  const size_t capacity_;
  mutable absl::Mutex mu_;
  std::deque<Message> messages_ ABSL_GUARDED_BY(mu_);
  std::optional<absl::Status> closed_ ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_COMMON_MAILBOX_H_
