#include "common/security/access_decision.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status.h"
#include "common/status_details.h"

namespace paceline {
namespace {

using Token = ShownCredentials::Token;

absl::Status Unauthenticated(absl::string_view text, absl::string_view reason,
                             absl::string_view method) {
  return WithReason(absl::UnauthenticatedError(text), reason,
                    {{"method", std::string(method)}});
}

absl::StatusOr<Identity> IdentityOf(const ShownCredentials& shown,
                                    absl::string_view method) {
  if (shown.token == Token::kWrong) {
    return Unauthenticated(
        "the bearer token is not (or no longer) one that this server knows",
        "BAD_TOKEN", method);
  }
  if (shown.token == Token::kRight) return shown.token_identity;
  if (!shown.certificate) {
    return Unauthenticated(
        "the call shows neither a client certificate nor a bearer token "
        "(metadata `authorization: Bearer TOKEN`)",
        "NO_CREDENTIALS", method);
  }
  absl::StatusOr<Identity> identity = absl::InvalidArgumentError(
      "the certificate has no URI name paceline://ROLE/NAME");
  int names = 0;
  for (const std::string& uri : shown.certificate_uris) {
    if (!absl::StartsWith(uri, kIdentityScheme)) continue;
    ++names;
    identity = ParseIdentityUri(uri);
  }
  if (names > 1) {
    identity = absl::InvalidArgumentError(
        "the certificate has more than one URI name paceline://ROLE/NAME");
  }
  if (identity.ok()) return identity;
  return Unauthenticated(identity.status().message(), "BAD_CERTIFICATE",
                         method);
}

absl::StatusOr<Admission> WhoIs(bool open, const ShownCredentials& shown,
                                absl::string_view method) {
  if (open) return Admission{shown.local ? "local" : "anyone", v1::ADMIN};
  PACELINE_ASSIGN_OR_RETURN(const Identity identity, IdentityOf(shown, method));
  return Admission{ToString(identity), identity.role};
}

std::string Names(absl::Span<const v1::Role> roles) {
  return absl::StrJoin(roles, ", ", [](std::string* out, v1::Role role) {
    absl::StrAppend(out, RoleName(role));
  });
}

}  // namespace

absl::StatusOr<Admission> DecideAccess(bool open, const ShownCredentials& shown,
                                       absl::Span<const v1::Role> roles,
                                       absl::string_view method,
                                       Admission* known) {
  if (roles.empty()) {
    return WithReason(
        absl::PermissionDeniedError(absl::StrCat("nobody may call ", method)),
        "METHOD_WITHOUT_ROLES", {{"method", std::string(method)}});
  }
  PACELINE_ASSIGN_OR_RETURN(const Admission who, WhoIs(open, shown, method));
  if (known != nullptr) *known = who;
  if (open) return who;
  if (std::find(roles.begin(), roles.end(), who.role) == roles.end()) {
    return WithReason(absl::PermissionDeniedError(
                          absl::StrCat(who.identity, " may not call ", method,
                                       ": that takes ", Names(roles))),
                      "ROLE_NOT_ALLOWED",
                      {{"method", std::string(method)},
                       {"role", std::string(RoleName(who.role))},
                       {"roles_allowed", Names(roles)}});
  }
  return who;
}

}  // namespace paceline
