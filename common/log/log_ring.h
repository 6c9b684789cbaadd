#ifndef PACELINE_COMMON_LOG_LOG_RING_H_
#define PACELINE_COMMON_LOG_LOG_RING_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace paceline {

// What one line of a log says. All text is UTF-8: what was not has marks
// (U+FFFD) in the places where it was not.
struct LogEntry {
  enum class Severity : uint8_t { kUnknown, kInfo, kWarning, kError };

  absl::Time time;
  Severity severity = Severity::kUnknown;
  std::string message;
  // In the order of the line. A text stands as it is, another value as JSON.
  std::vector<std::pair<std::string, std::string>> fields;
  bool cut = false;  // The line was longer.
};

// The last lines of a log. Older ones are forgotten as new ones come, so that
// it never holds more than its limits say. Thread-safe.
class LogRing {
 public:
  struct Limits {
    size_t lines = 1'000;
    size_t bytes = 256 << 10;  // Of all texts together.
    // Of one line; the rest of a longer one is dropped. REQUIRES: <= bytes.
    size_t line_bytes = 4 << 10;
  };

  LogRing() : LogRing(Limits()) {}
  explicit LogRing(const Limits& limits) : limits_(limits) {}
  LogRing(const LogRing&) = delete;
  LogRing& operator=(const LogRing&) = delete;

  // The texts need not be UTF-8.
  void Add(LogEntry entry);

  // The oldest first, `most` at most.
  std::vector<LogEntry> Last(size_t most) const;

  const Limits& limits() const { return limits_; }

 private:
  void Cut(LogEntry& entry) const;

  const Limits limits_;
  mutable absl::Mutex mu_;
  std::deque<LogEntry> entries_ ABSL_GUARDED_BY(mu_);
  size_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
};

// Puts what a stream of text brings into a ring, line by line, without a
// severity. Lines without any text are left out. Thread-compatible.
class RingLines {
 public:
  // Null: the text goes nowhere. The ring outlives it.
  explicit RingLines(LogRing* ring) : ring_(ring) {}

  void Add(absl::string_view text, absl::Time now);
  // The last line may have no end.
  void End(absl::Time now);

 private:
  LogRing* const ring_;
  std::string line_;
  bool cut_ = false;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_LOG_LOG_RING_H_
