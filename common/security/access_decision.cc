#include "common/security/access_decision.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/plain_name.h"
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
  return Admission{ToString(identity), identity.role, identity.namespaces};
}

std::string Names(absl::Span<const v1::Role> roles) {
  return absl::StrJoin(roles, ", ", [](std::string* out, v1::Role role) {
    absl::StrAppend(out, RoleName(role));
  });
}

absl::Status NotInNamespace(const Admission& who, const CalledMethod& method,
                            absl::string_view name_space,
                            absl::string_view why) {
  return WithReason(
      absl::PermissionDeniedError(absl::StrCat(
          who.identity, " may not call ", method.name, why, ": its role ",
          RoleName(who.role), " is bound to namespace ",
          absl::StrReplaceAll(who.namespaces.Text(), {{"+", ", "}}))),
      "NAMESPACE_NOT_ALLOWED",
      {{"method", std::string(method.name)},
       {"role", std::string(RoleName(who.role))},
       {"namespace", std::string(name_space)},
       {"namespaces_allowed", who.namespaces.Text()}});
}

// Whether a caller whose role is bound to namespaces may call the method, about
// that resource.
absl::Status CheckReach(const Admission& who, const CalledMethod& method) {
  const absl::string_view named = NamespaceOfResource(method.resource);
  switch (method.reach) {
    case v1::ONE_NAMESPACE:
      break;
    case v1::OWN_PART:
      // All, or what is in none: the answer is cut.
      if (named.empty() || named == "-") return absl::OkStatus();
      break;
    default:
      return NotInNamespace(who, method, "",
                            ", which reaches the whole cluster");
  }
  if (!named.empty() && who.namespaces.Has(named)) return absl::OkStatus();
  // The name is the caller's own text.
  const std::string shown = absl::CHexEscape(named.substr(0, kPlainNameMax));
  return NotInNamespace(who, method, shown,
                        named.empty()
                            ? " about what it does not name by its namespace"
                            : absl::StrCat(" in namespace ", shown));
}

}  // namespace

absl::StatusOr<Admission> DecideAccess(bool open, const ShownCredentials& shown,
                                       const CalledMethod& method,
                                       Admission* known) {
  if (method.roles.empty()) {
    return WithReason(absl::PermissionDeniedError(
                          absl::StrCat("nobody may call ", method.name)),
                      "METHOD_WITHOUT_ROLES",
                      {{"method", std::string(method.name)}});
  }
  PACELINE_ASSIGN_OR_RETURN(const Admission who,
                            WhoIs(open, shown, method.name));
  if (known != nullptr) *known = who;
  if (open) return who;
  if (std::find(method.roles.begin(), method.roles.end(), who.role) ==
      method.roles.end()) {
    return WithReason(absl::PermissionDeniedError(absl::StrCat(
                          who.identity, " may not call ", method.name,
                          ": that takes ", Names(method.roles))),
                      "ROLE_NOT_ALLOWED",
                      {{"method", std::string(method.name)},
                       {"role", std::string(RoleName(who.role))},
                       {"roles_allowed", Names(method.roles)}});
  }
  if (!who.namespaces.all()) {
    PACELINE_RETURN_IF_ERROR(CheckReach(who, method));
  }
  return who;
}

}  // namespace paceline
