#ifndef PACELINE_COMMON_SESSION_SENT_LOG_H_
#define PACELINE_COMMON_SESSION_SENT_LOG_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace paceline {

// One side's half of a session that survives the connections it is carried by:
// what was said and the other side is not known to have. Numbers it from 1.
// Message has set_number().
//
// Not thread-safe: messages must leave in the order of their numbers, so its
// owner numbers and sends under one lock anyway.
template <class Message>
class SentLog {
 public:
  // A peer that lets more pile up does not read.
  struct Limits {
    size_t messages = 0;
    size_t bytes = size_t{256} << 20;
  };

  // `acknowledged`: what was said before, which is numbered up to that and has
  // arrived.
  explicit SentLog(Limits limits, uint64_t acknowledged = 0)
      : limits_(limits), acknowledged_(acknowledged) {}

  // Numbers it and keeps a copy, of `bytes`. False if that would be too many:
  // it is not kept then, and the session is over. One message may be larger
  // than the limit.
  bool Add(Message& message, size_t bytes) {
    if (kept_.size() >= limits_.messages ||
        (!kept_.empty() &&
         (bytes_ > limits_.bytes || bytes > limits_.bytes - bytes_))) {
      return false;
    }
    message.set_number(acknowledged_ + kept_.size() + 1);
    kept_.push_back({message, bytes});
    bytes_ += bytes;
    return true;
  }

  // The other side has everything up to `number`. What it said before counts
  // no more. INVALID_ARGUMENT for a number that was never sent.
  absl::Status Acknowledge(uint64_t number) {
    if (number > last()) {
      return absl::InvalidArgumentError(
          absl::StrCat("message ", number, " of the session is acknowledged, ",
                       "and only ", last(), " were sent"));
    }
    for (; acknowledged_ < number; ++acknowledged_) {
      bytes_ -= kept_.front().bytes;
      kept_.pop_front();
    }
    return absl::OkStatus();
  }

  // The other side takes the session up again, with everything up to `number`.
  // INVALID_ARGUMENT also if it had acknowledged more: that is kept no longer,
  // and cannot be sent again.
  absl::Status Resume(uint64_t number) {
    if (number < acknowledged_) {
      return absl::InvalidArgumentError(
          absl::StrCat("the session is taken up after message ", number,
                       ", and ", acknowledged_, " were acknowledged"));
    }
    return Acknowledge(number);
  }

  struct Kept {
    Message message;
    size_t bytes = 0;
  };
  // What is to be sent again, in order.
  const std::deque<Kept>& kept() const { return kept_; }

  uint64_t last() const { return acknowledged_ + kept_.size(); }

 private:
  const Limits limits_;
  std::deque<Kept> kept_;  // From number acknowledged_ + 1 on.
  size_t bytes_ = 0;       // Never above the limit but by one message.
  uint64_t acknowledged_;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_SESSION_SENT_LOG_H_
