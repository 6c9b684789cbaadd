#include "tests/integration/access/api_methods.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/check.h"
#include "common/log/log.h"
#include "common/security/identity.h"
#include "protos/paceline/v1/access.pb.h"
#include "protos/paceline/v1/cluster.pb.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "protos/paceline/v1/parameters.pb.h"
#include "protos/paceline/v1/replication.pb.h"
#include "protos/paceline/v1/standby.pb.h"

namespace paceline {
namespace {

using ::google::protobuf::DescriptorPool;
using ::google::protobuf::FileDescriptor;
using ::google::protobuf::MethodDescriptor;

constexpr char kFolder[] = "protos/paceline/v1";

// So that the linker does not leave out what nothing else mentions.
void Link() {
  CHECK(v1::Cluster::descriptor() != nullptr);
  CHECK(v1::Frame::descriptor() != nullptr);
  CHECK(v1::Job::descriptor() != nullptr);
  CHECK(v1::LeaderMessage::descriptor() != nullptr);
  CHECK(v1::ReplicaEntry::descriptor() != nullptr);
  CHECK(v1::WorkerHello::descriptor() != nullptr);
}

std::string RolesOf(const MethodDescriptor& method) {
  std::vector<std::string> roles;
  for (int i = 0; i < method.options().ExtensionSize(v1::roles); ++i) {
    roles.emplace_back(RoleName(method.options().GetExtension(v1::roles, i)));
  }
  std::sort(roles.begin(), roles.end());
  return absl::StrJoin(roles, " ");
}

}  // namespace

std::vector<ApiMethod> MethodsOf(const FileDescriptor& file) {
  std::vector<ApiMethod> methods;
  for (int s = 0; s < file.service_count(); ++s) {
    for (int m = 0; m < file.service(s)->method_count(); ++m) {
      const MethodDescriptor& method = *file.service(s)->method(m);
      methods.push_back(
          {absl::StrCat("/", file.service(s)->full_name(), "/", method.name()),
           RolesOf(method),
           v1::Reach_Name(method.options().GetExtension(v1::reach))});
    }
  }
  return methods;
}

std::vector<ApiMethod> AllApiMethods() {
  Link();
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(
           absl::StrCat(PACELINE_SOURCE "/", kFolder))) {
    if (entry.path().extension() == ".proto") {
      files.push_back(
          absl::StrCat(kFolder, "/", entry.path().filename().string()));
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<ApiMethod> all;
  for (const std::string& name : files) {
    const FileDescriptor* const file =
        DescriptorPool::generated_pool()->FindFileByName(name);
    if (file == nullptr) {
      LogError(absl::StrCat(name, " is not linked: name it in Link()"));
    }
    CHECK(file != nullptr);
    for (ApiMethod& method : MethodsOf(*file)) {
      all.push_back(std::move(method));
    }
  }
  return all;
}

}  // namespace paceline
