// Which trace a call belongs to, as its caller says it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/check.h"
#include "common/trace_context.h"
#include "tests/fuzz/fuzz_target.h"

namespace paceline {
namespace {

constexpr char kTrace[] = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr char kParent[] = "00f067aa0ba902b7";

// How much of a text version 00 has, and where in it the parent is.
constexpr size_t kSize = 55;
constexpr size_t kParentBegin = 36;
constexpr size_t kParentSize = 16;

bool IsLowerHex(char c) {
  return absl::ascii_isdigit(static_cast<unsigned char>(c)) ||
         (c >= 'a' && c <= 'f');
}

// The grammar as https://www.w3.org/TR/trace-context/ has it: two digits of the
// version, 32 of the trace, 16 of the parent, two of the flags.
bool IsTraceparent(absl::string_view text) {
  if (text.size() < kSize || absl::StartsWith(text, "ff")) return false;
  for (size_t i = 0; i < kSize; ++i) {
    const bool between = i == 2 || i == kParentBegin - 1 || i == kSize - 3;
    if (between ? text[i] != '-' : !IsLowerHex(text[i])) return false;
  }
  for (const size_t begin : {size_t{3}, kParentBegin}) {
    const size_t size = begin == 3 ? 32 : kParentSize;
    if (text.substr(begin, size) == std::string(size, '0')) return false;
  }
  const absl::string_view more = text.substr(kSize);
  return more.empty() || (more[0] == '-' && !absl::StartsWith(text, "00"));
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  const std::string trace = kTrace;
  const std::string rest = "-" + trace + "-" + kParent + "-01";
  return {"00" + rest,
          "cc" + rest,
          "cc" + rest + "-more",
          "ff" + rest,
          "00" + rest + "-more",
          "00-" + std::string(32, '0') + "-" + kParent + "-00",
          "00-" + trace + "-0000000000000000-00"};
}

void FuzzOne(absl::string_view input) {
  const std::optional<TraceContext> context = ParseTraceparent(input);
  CHECK(context.has_value() == IsTraceparent(input));
  const std::string cut = CutTraceparent(input);
  const std::string trace_id = TraceIdOf(input);
  if (!context.has_value()) {
    CHECK(cut.empty() && trace_id.empty());
    return;
  }
  CHECK(trace_id == context->trace_id);
  // What is handed on is version 00's, and says the same.
  CHECK(cut == absl::StrCat("00", input.substr(2, kSize - 2)));
  CHECK(ParseTraceparent(cut) == context);
  CHECK(CutTraceparent(cut) == cut);
  if (absl::StartsWith(input, "00")) CHECK(cut == input);
  // Written again with the same parent it is the same text.
  uint64_t parent = 0;
  CHECK(absl::SimpleHexAtoi(cut.substr(kParentBegin, kParentSize), &parent));
  CHECK(ToTraceparent(*context, parent) == cut);
}

}  // namespace paceline
