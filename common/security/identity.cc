#include "common/security/identity.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/status.h"

namespace paceline {
namespace {

constexpr size_t kMaxName = 63;

}  // namespace

absl::string_view RoleName(v1::Role role) {
  switch (role) {
    case v1::VIEWER:
      return "viewer";
    case v1::WORKER:
      return "worker";
    case v1::SERVER:
      return "server";
    case v1::ADMIN:
      return "admin";
    default:
      return "none";
  }
}

absl::StatusOr<v1::Role> ParseRole(absl::string_view text) {
  for (const auto role : {v1::VIEWER, v1::WORKER, v1::SERVER, v1::ADMIN}) {
    if (text == RoleName(role)) return role;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", absl::CHexEscape(text.substr(0, kMaxName)),
                   "' is no role: it must be admin, viewer, worker or server"));
}

bool IsIdentityName(absl::string_view name) {
  return !name.empty() && name.size() <= kMaxName &&
         absl::ascii_isalnum(name[0]) &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
         });
}

std::string ToString(const Identity& identity) {
  return absl::StrCat(RoleName(identity.role), "/", identity.name);
}

absl::StatusOr<Identity> ParseIdentityUri(absl::string_view uri) {
  absl::string_view rest = uri;
  const size_t slash =
      absl::ConsumePrefix(&rest, kIdentityScheme) ? rest.find('/') : rest.npos;
  if (slash == rest.npos || !IsIdentityName(rest.substr(slash + 1))) {
    return absl::InvalidArgumentError(
        "the certificate's name is not of the form paceline://ROLE/NAME");
  }
  PACELINE_ASSIGN_OR_RETURN(const v1::Role role,
                            ParseRole(rest.substr(0, slash)));
  return Identity{role, std::string(rest.substr(slash + 1))};
}

}  // namespace paceline
