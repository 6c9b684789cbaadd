#ifndef PACELINE_TESTS_GPU_TOOLKIT_ONLY_STATUS_H_
#define PACELINE_TESTS_GPU_TOOLKIT_ONLY_STATUS_H_

#include <ostream>
#include <string>

#include "absl/strings/string_view.h"

namespace absl {

enum class StatusCode {
  kOk = 0,
  kInvalidArgument = 3,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
};

enum class StatusToStringMode { kWithNoExtraData };

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, string_view message)
      : code_(code), message_(message) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  string_view message() const { return message_; }
  std::string ToString(StatusToStringMode /*mode*/) const {
    return ok() ? "OK" : message_;
  }
  void IgnoreError() const {}
  // The first error stays.
  void Update(const Status& other) {
    if (ok()) *this = other;
  }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline std::ostream& operator<<(std::ostream& out, const Status& status) {
  return out << (status.ok() ? "OK" : status.message());
}

inline Status OkStatus() { return {}; }
inline Status InvalidArgumentError(string_view message) {
  return {StatusCode::kInvalidArgument, message};
}
inline Status ResourceExhaustedError(string_view message) {
  return {StatusCode::kResourceExhausted, message};
}
inline Status FailedPreconditionError(string_view message) {
  return {StatusCode::kFailedPrecondition, message};
}
inline Status UnavailableError(string_view message) {
  return {StatusCode::kUnavailable, message};
}
inline Status DataLossError(string_view message) {
  return {StatusCode::kDataLoss, message};
}

}  // namespace absl

#endif  // PACELINE_TESTS_GPU_TOOLKIT_ONLY_STATUS_H_
