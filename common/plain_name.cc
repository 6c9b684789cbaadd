#include "common/plain_name.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/utf8.h"

namespace paceline {
namespace {

// Of a wrong name that is repeated in an error.
constexpr size_t kNameShown = 80;

bool IsLowerOrDigit(char c) {
  return absl::ascii_islower(c) || absl::ascii_isdigit(c);
}

}  // namespace

bool IsPlainName(absl::string_view name) {
  return !name.empty() && name.size() <= kPlainNameMax &&
         absl::ascii_isalnum(name.front()) &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
         });
}

bool IsId(absl::string_view name) {
  return !name.empty() && name.size() <= kPlainNameMax &&
         absl::ascii_islower(name.front()) && IsLowerOrDigit(name.back()) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return IsLowerOrDigit(c) || c == '-'; });
}

absl::Status CheckPlainName(absl::string_view what, absl::string_view name) {
  if (IsPlainName(name)) return absl::OkStatus();
  const absl::string_view shown = CutUtf8(name, kNameShown);
  return absl::InvalidArgumentError(absl::StrCat(
      what, " is \"", absl::Utf8SafeCHexEscape(shown),
      shown.size() < name.size() ? "...\"" : "\"", "; want ", kPlainNameRule));
}

}  // namespace paceline
