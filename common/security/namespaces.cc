#include "common/security/namespaces.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/plain_name.h"

namespace paceline {
namespace {

// Of a wrong name that is repeated in an error.
constexpr size_t kShown = 63;

}  // namespace

absl::StatusOr<Namespaces> Namespaces::Parse(absl::string_view text) {
  Namespaces namespaces;
  for (const absl::string_view name : absl::StrSplit(text, '+')) {
    if (!IsId(name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", absl::CHexEscape(name.substr(0, kShown)),
                       "' is no namespace: it must be ", kIdRule));
    }
    namespaces.some_.emplace_back(name);
  }
  std::vector<std::string>& some = namespaces.some_;
  std::sort(some.begin(), some.end());
  const auto twice = std::adjacent_find(some.begin(), some.end());
  if (twice != some.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("namespace ", *twice, " is named twice"));
  }
  if (some.size() > kMost) {
    return absl::InvalidArgumentError(absl::StrCat("a role is bound to ", kMost,
                                                   " namespaces at most, not ",
                                                   some.size()));
  }
  return namespaces;
}

bool Namespaces::Has(absl::string_view name_space) const {
  return all() || std::binary_search(some_.begin(), some_.end(), name_space);
}

bool Namespaces::HasResource(absl::string_view name) const {
  return Has(NamespaceOfResource(name));
}

std::string Namespaces::Text() const { return absl::StrJoin(some_, "+"); }

absl::string_view NamespaceOfResource(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, "namespaces/")) return "";
  return name.substr(0, name.find('/'));
}

}  // namespace paceline
