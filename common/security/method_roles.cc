#include "common/security/method_roles.h"

#include <google/protobuf/descriptor.h>

#include <utility>

#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace paceline {
namespace {

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
