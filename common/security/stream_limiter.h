#ifndef PACELINE_COMMON_SECURITY_STREAM_LIMITER_H_
#define PACELINE_COMMON_SECURITY_STREAM_LIMITER_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace paceline {

namespace internal {

struct OpenStreams {
  absl::Mutex mu;
  // Only identities with open streams, so that it cannot grow for ever.
  absl::flat_hash_map<std::string, size_t> by_identity ABSL_GUARDED_BY(mu);
};

}  // namespace internal

// One open stream; its destruction ends the counting. It may outlive the
// limiter. Thread-compatible; any thread may destroy it.
class StreamTicket {
 public:
  StreamTicket() = default;  // Counts nothing.
  StreamTicket(std::shared_ptr<internal::OpenStreams> open,
               absl::string_view identity);
  ~StreamTicket() { Return(); }
  StreamTicket(StreamTicket&& other) noexcept = default;
  StreamTicket& operator=(StreamTicket&& other) noexcept;

 private:
  void Return();

  std::shared_ptr<internal::OpenStreams> open_;  // Null: counts nothing.
  std::string identity_;
};

// How many streams each caller may have open at a time. Thread-safe.
class StreamLimiter {
 public:
  // 0: no limit.
  explicit StreamLimiter(size_t per_identity);

  // Nothing if the identity has as many as it may.
  std::optional<StreamTicket> Open(absl::string_view identity);

  size_t open(absl::string_view identity) const;

 private:
  const size_t per_identity_;
  const std::shared_ptr<internal::OpenStreams> open_;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_SECURITY_STREAM_LIMITER_H_
