#include "common/security/identity.h"

#include <google/protobuf/descriptor.h>

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/plain_name.h"
#include "common/status.h"

namespace paceline {
namespace {

// Of a wrong role that is repeated in an error.
constexpr size_t kShown = 63;

std::vector<v1::Role> LookUp(absl::string_view method) {
  absl::ConsumePrefix(&method, "/");
  const google::protobuf::MethodDescriptor* const descriptor =
      google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(
          absl::StrReplaceAll(method, {{"/", "."}}));
  std::vector<v1::Role> roles;
  if (descriptor == nullptr) return roles;
  const auto& options = descriptor->options();
  for (int i = 0; i < options.ExtensionSize(v1::roles); ++i) {
    roles.push_back(options.GetExtension(v1::roles, i));
  }
  return roles;
}

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
    case v1::COORDINATOR:
      return "coordinator";
    default:
      return "none";
  }
}

absl::StatusOr<v1::Role> ParseRole(absl::string_view text) {
  for (const auto role :
       {v1::VIEWER, v1::WORKER, v1::SERVER, v1::ADMIN, v1::COORDINATOR}) {
    if (text == RoleName(role)) return role;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", absl::CHexEscape(text.substr(0, kShown)),
                   "' is no role: it must be admin, viewer, worker, server or "
                   "coordinator"));
}

std::string ToString(const Identity& identity) {
  return absl::StrCat(RoleName(identity.role), "/", identity.name);
}

absl::StatusOr<Identity> ParseIdentityUri(absl::string_view uri) {
  absl::string_view rest = uri;
  const size_t slash =
      absl::ConsumePrefix(&rest, kIdentityScheme) ? rest.find('/') : rest.npos;
  if (slash == rest.npos || !IsPlainName(rest.substr(slash + 1))) {
    return absl::InvalidArgumentError(
        "the certificate's name is not of the form paceline://ROLE/NAME");
  }
  PACELINE_ASSIGN_OR_RETURN(const v1::Role role,
                            ParseRole(rest.substr(0, slash)));
  return Identity{role, std::string(rest.substr(slash + 1))};
}

absl::Span<const v1::Role> MethodRoles::Of(absl::string_view method) {
  {
    absl::ReaderMutexLock lock(&mu_);
    const auto it = known_.find(method);
    if (it != known_.end()) return it->second;
  }
  std::vector<v1::Role> roles = LookUp(method);
  if (roles.empty()) return {};
  absl::MutexLock lock(&mu_);
  return known_.emplace(method, std::move(roles)).first->second;
}

}  // namespace paceline
