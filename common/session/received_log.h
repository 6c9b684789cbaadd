#ifndef PACELINE_COMMON_SESSION_RECEIVED_LOG_H_
#define PACELINE_COMMON_SESSION_RECEIVED_LOG_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace paceline {

// The other half of a SentLog: how far what the peer said has come. Not
// thread-safe.
class ReceivedLog {
 public:
  // What came before is numbered up to `last`.
  explicit ReceivedLog(uint64_t last = 0) : last_(last), told_(last) {}

  // Whether the message with this number is new; otherwise it came before and
  // was sent again. INVALID_ARGUMENT if one before it is missing.
  absl::StatusOr<bool> Take(uint64_t number) {
    if (number <= last_) return false;
    if (number != last_ + 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "message ", number, " of the session came after message ", last_,
          "; send those between first"));
    }
    last_ = number;
    return true;
  }

  uint64_t last() const { return last_; }

  // What the peer is told of, which it then need not keep. Said with every
  // message; one has to be sent for it once so many were not told of.
  static constexpr uint64_t kUntold = 256;
  uint64_t Tell() { return told_ = last_; }
  bool must_tell() const { return last_ - told_ >= kUntold; }

 private:
  uint64_t last_;
  uint64_t told_;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_SESSION_RECEIVED_LOG_H_
