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

const google::protobuf::MethodDescriptor* LookUp(absl::string_view method) {
  absl::ConsumePrefix(&method, "/");
  return google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(
      absl::StrReplaceAll(method, {{"/", "."}}));
}

bool CanBeBound(v1::Role role) {
  return role == v1::ADMIN || role == v1::VIEWER;
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

absl::StatusOr<Identity> ParseBoundRole(absl::string_view role,
                                        absl::string_view name) {
  const size_t at = role.find('@');
  Identity identity{.name = std::string(name)};
  PACELINE_ASSIGN_OR_RETURN(identity.role, ParseRole(role.substr(0, at)));
  if (at == role.npos) return identity;
  if (!CanBeBound(identity.role)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the role ", RoleName(identity.role),
                     " is of the whole cluster: only admin and viewer can be "
                     "bound to namespaces"));
  }
  PACELINE_ASSIGN_OR_RETURN(identity.namespaces,
                            Namespaces::Parse(role.substr(at + 1)));
  return identity;
}

std::string ToString(const Identity& identity) {
  return absl::StrCat(RoleName(identity.role),
                      identity.namespaces.all() ? "" : "@",
                      identity.namespaces.Text(), "/", identity.name);
}

absl::StatusOr<Identity> ParseIdentityUri(absl::string_view uri) {
  absl::string_view rest = uri;
  const size_t slash =
      absl::ConsumePrefix(&rest, kIdentityScheme) ? rest.find('/') : rest.npos;
  if (slash == rest.npos || !IsPlainName(rest.substr(slash + 1))) {
    return absl::InvalidArgumentError(
        "the certificate's name is not of the form paceline://ROLE/NAME");
  }
  return ParseBoundRole(rest.substr(0, slash), rest.substr(slash + 1));
}

const MethodRoles::Access* MethodRoles::Find(absl::string_view method) {
  {
    absl::ReaderMutexLock lock(&mu_);
    const auto it = known_.find(method);
    if (it != known_.end()) return &it->second;
  }
  const auto* const descriptor = LookUp(method);
  if (descriptor == nullptr) return nullptr;
  const auto& options = descriptor->options();
  Access access{.reach = options.GetExtension(v1::reach)};
  for (int i = 0; i < options.ExtensionSize(v1::roles); ++i) {
    access.roles.push_back(options.GetExtension(v1::roles, i));
  }
  if (access.roles.empty()) return nullptr;
  absl::MutexLock lock(&mu_);
  return &known_.emplace(method, std::move(access)).first->second;
}

absl::Span<const v1::Role> MethodRoles::Of(absl::string_view method) {
  const Access* const access = Find(method);
  if (access == nullptr) return {};
  return access->roles;
}

v1::Reach MethodRoles::ReachOf(absl::string_view method) {
  const Access* const access = Find(method);
  return access == nullptr ? v1::REACH_UNSPECIFIED : access->reach;
}

}  // namespace paceline
