#include "common/trace_context.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace paceline {
namespace {

constexpr size_t kVersionSize = 2;
constexpr size_t kTraceIdSize = 32;
constexpr size_t kParentSize = 16;
constexpr size_t kFlagsSize = 2;
constexpr size_t kRestSize = 3 + kTraceIdSize + kParentSize + kFlagsSize;

bool IsHex(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f');
  });
}

bool IsZero(absl::string_view text) {
  return text.find_first_not_of('0') == absl::string_view::npos;
}

// The next so many digits, and in front of them a '-'. Empty if they are not
// there.
absl::string_view Take(absl::string_view& rest, size_t digits) {
  if (rest.size() <= digits || rest[0] != '-') return "";
  const absl::string_view taken = rest.substr(1, digits);
  rest.remove_prefix(1 + digits);
  return IsHex(taken) ? taken : "";
}

}  // namespace

std::optional<TraceContext> ParseTraceparent(absl::string_view text) {
  const absl::string_view version = text.substr(0, kVersionSize);
  if (version.size() < kVersionSize || !IsHex(version) || version == "ff") {
    return std::nullopt;
  }
  absl::string_view rest = text.substr(kVersionSize);
  const absl::string_view trace_id = Take(rest, kTraceIdSize);
  const absl::string_view parent = Take(rest, kParentSize);
  const absl::string_view flags = Take(rest, kFlagsSize);
  if (trace_id.empty() || IsZero(trace_id) || parent.empty() ||
      IsZero(parent) || flags.empty()) {
    return std::nullopt;
  }
  // Later versions may go on, after another '-'.
  if (!rest.empty() && (version == "00" || rest[0] != '-')) return std::nullopt;
  return TraceContext{std::string(trace_id), std::string(flags)};
}

std::string CutTraceparent(absl::string_view text) {
  if (!ParseTraceparent(text).has_value()) return "";
  return absl::StrCat("00", text.substr(kVersionSize, kRestSize));
}

std::string TraceIdOf(absl::string_view traceparent) {
  const std::optional<TraceContext> context = ParseTraceparent(traceparent);
  return context.has_value() ? context->trace_id : "";
}

TraceContext NewTrace(uint64_t high, uint64_t low) {
  return {absl::StrCat(absl::Hex(high, absl::kZeroPad16),
                       absl::Hex(low | 1, absl::kZeroPad16))};
}

std::string ToTraceparent(const TraceContext& context, uint64_t parent) {
  CHECK(parent != 0);
  return absl::StrCat("00-", context.trace_id, "-",
                      absl::Hex(parent, absl::kZeroPad16), "-", context.flags);
}

}  // namespace paceline
