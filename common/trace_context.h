#ifndef PACELINE_COMMON_TRACE_CONTEXT_H_
#define PACELINE_COMMON_TRACE_CONTEXT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace paceline {

// Which trace something belongs to: https://www.w3.org/TR/trace-context/. What
// is carried from process to process is its text, a `traceparent`.
struct TraceContext {
  std::string trace_id;      // 32 hexadecimal digits, small ones, not all 0.
  std::string flags = "00";  // 2 of them; the last bit: the caller records it.

  friend bool operator==(const TraceContext&, const TraceContext&) = default;
};

// Nothing if the text is no traceparent; of a version beyond 00 what that one
// has in common with it.
std::optional<TraceContext> ParseTraceparent(absl::string_view text);

// What version 00 has of a `traceparent`; empty if it is none.
std::string CutTraceparent(absl::string_view text);

// The trace of a `traceparent`, for logs; empty if it is none.
std::string TraceIdOf(absl::string_view traceparent);

// A trace of its own, for what nobody has traced: from 128 bits of chance.
TraceContext NewTrace(uint64_t high, uint64_t low);

// "00-TRACE_ID-PARENT-FLAGS".  REQUIRES: `parent` is not 0.
std::string ToTraceparent(const TraceContext& context, uint64_t parent);

}  // namespace paceline

#endif  // PACELINE_COMMON_TRACE_CONTEXT_H_
