// Which trace a call belongs to, as its caller says it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <regex>
#include <string>
#include <vector>

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

// The grammar as https://www.w3.org/TR/trace-context/ has it.
bool IsTraceparent(absl::string_view text) {
  static const std::regex grammar(
      "(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-"
      "[0-9a-f]{2}");
  const absl::string_view head = text.substr(0, kSize);
  if (!std::regex_match(head.begin(), head.end(), grammar)) return false;
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
