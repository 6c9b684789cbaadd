#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/security/small_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/cli/exit_code.h"
#include "services/cli/kubernetes/import_kubernetes_command.h"
#include "tests/common/test_folder.h"
#include "tests/services/cli/admin/run_command.h"

namespace paceline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr char kSecret[] =
    R"({"data": {"tls.crt": "Q0VSVA==", "tls.key": "S0VZ", "ca.crt": "Q0E="}})";

// A release "train" with a stateful set that has the volume.
std::string Release(const std::string& volume, const std::string& ingress) {
  return absl::StrCat(
      R"({"items": [{"kind": "Service",
          "metadata": {"name": "train-paceline-coordinator"},
          "spec": {"ports": [{"name": "grpc", "port": 7070}]},
          "status": {"loadBalancer": {"ingress": [)",
      ingress,
      R"(]}}}, {"kind": "StatefulSet", "spec": {"template": {"spec":
          {"volumes": [{"name": ")",
      volume, R"("}]}}}}]})");
}

class ImportKubernetesTest : public testing::Test {
 protected:
  ImportKubernetesTest() {
    command_.add_more = &AddImportKubernetesCommand;
    command_.environment = {
        {"PACELINE_CONFIG", folder_.Path("config.yaml")},
        {"PATH", absl::StrCat("/nowhere:", folder_.path())}};
  }

  // In place of kubectl: notes how it was called, and does `does`.
  void Kubectl(const std::string& does) {
    const std::string path = folder_.Path("kubectl");
    std::ofstream(path) << "#!/bin/sh\necho \"$@\" >> " << folder_.Path("calls")
                        << "\ncase \"$*\" in " << does << "\nesac\n";
    chmod(path.c_str(), 0700);
  }
  void KubectlFinds(const std::string& release) {
    folder_.Write("release.json", release);
    folder_.Write("secret.json", kSecret);
    Kubectl(absl::StrCat(
        "*' get services,statefulsets '*) cat ", folder_.Path("release.json"),
        ";;\n*' get secret train-paceline-tls-admin '*) cat ",
        folder_.Path("secret.json"), ";;\n*) echo 'Error from server ",
        "(NotFound): secrets not found' >&2; exit 1;;"));
  }
  std::string Text(const std::string& name) {
    return ReadSmallFile(folder_.Path(name)).value_or("");
  }

  const TestFolder folder_;
  CommandRunner command_;
};

TEST_F(ImportKubernetesTest, AContextWithTheAdministratorsCertificate) {
  KubectlFinds(Release("tls", ""));
  const auto outcome = command_.Run(
      "config import-kubernetes train -n training --kube-context lab");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "context train created, it is current\n");
  EXPECT_THAT(outcome.err,
              HasSubstr("kubectl --context lab -n training port-forward "
                        "service/train-paceline-coordinator 7070"));
  EXPECT_THAT(Text("config.yaml"),
              AllOf(HasSubstr("address: \"localhost:7070\""),
                    HasSubstr(folder_.Path("certificates/train/tls.crt")),
                    HasSubstr(folder_.Path("certificates/train/tls.key")),
                    HasSubstr(folder_.Path("certificates/train/ca.crt"))));
  EXPECT_EQ(Text("certificates/train/tls.key"), "KEY");
  struct stat key;
  ASSERT_EQ(stat(folder_.Path("certificates/train/tls.key").c_str(), &key), 0);
  EXPECT_EQ(key.st_mode & 0777, 0600u);
  EXPECT_THAT(Text("calls"),
              AllOf(HasSubstr("--context=lab --namespace=training"),
                    HasSubstr("app.kubernetes.io/instance=train")));
}

TEST_F(ImportKubernetesTest, WithALoadBalancerNothingIsForwarded) {
  KubectlFinds(Release("scratch", R"({"ip": "2001:db8::1"})"));
  const auto outcome =
      command_.Run("config import-kubernetes train --name mine");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(Text("config.yaml"),
              AllOf(HasSubstr("mine:"), HasSubstr("[2001:db8::1]:7070"),
                    Not(HasSubstr("tls"))));
  const auto elsewhere = command_.Run(
      "config import-kubernetes train --name mine --address gate.example:443");
  EXPECT_EQ(elsewhere.out, "context mine changed\n");
  EXPECT_THAT(Text("config.yaml"), HasSubstr("gate.example:443"));
}

TEST_F(ImportKubernetesTest, WhatIsWrongIsSaid) {
  const auto none = command_.Run("config import-kubernetes train");
  EXPECT_NE(none.code, 0);
  EXPECT_THAT(none.err, HasSubstr("there is no kubectl in PATH"));

  KubectlFinds(R"({"items": []})");
  const auto absent = command_.Run("config import-kubernetes train");
  EXPECT_EQ(absent.code, static_cast<int>(ExitCode::kNotFound)) << absent.err;
  EXPECT_THAT(absent.err, HasSubstr("release train"));

  KubectlFinds(Release("tls", ""));
  const auto secret =
      command_.Run("config import-kubernetes train --secret mine");
  EXPECT_EQ(secret.code, static_cast<int>(ExitCode::kNotFound)) << secret.err;
  EXPECT_THAT(secret.err, HasSubstr("--secret"));

  Kubectl(
      "*) echo 'E1: retrying' >&2\necho 'Error from server (Forbidden): "
      "services is forbidden' >&2; exit 1;;");
  const auto forbidden = command_.Run("config import-kubernetes train");
  EXPECT_EQ(forbidden.code, static_cast<int>(ExitCode::kDenied))
      << forbidden.err;
  EXPECT_THAT(forbidden.err, AllOf(HasSubstr("services is forbidden"),
                                   Not(HasSubstr("retrying"))));

  Kubectl("*) echo no JSON;;");
  EXPECT_NE(command_.Run("config import-kubernetes train").code, 0);
  EXPECT_EQ(command_.Run("config import-kubernetes ../train").code,
            static_cast<int>(ExitCode::kUsage));
  EXPECT_FALSE(std::filesystem::exists(folder_.Path("config.yaml")));
}

}  // namespace
}  // namespace paceline
