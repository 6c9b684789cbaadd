#include <stdlib.h>

#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/test_paths.h"
#include "tests/services/cli/admin/run_command.h"

// `paceline worker manifest`, which asks no coordinator.

namespace paceline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr char kLeast[] =
    "worker manifest --program resnet --image resnet:7 --coordinator c:7070 ";

// tests/deploy compares the file with what the chart makes. With
// PACELINE_REWRITE=1 it is written: read the diff before it is committed.
TEST(ManifestCommandTest, APoolOfTheChart) {
  CommandRunner command;
  const auto printed = command.Run(
      "worker manifest --program resnet-cifar --image registry.lab/resnet:7 "
      "--coordinator r-paceline-coordinator.lab.svc:7070 "
      "--tls-secret r-paceline-tls-worker --agent-image paceline/worker-cpu:9 "
      "--name r-paceline-worker-a100 --pool a100 --replicas 4 --gpus 1 "
      "--cpu 4 --memory 16Gi --shm-size 8Gi --weights-size 1Gi "
      "--data-claim training-data --env OMP_NUM_THREADS=4 "
      "--node-selector nvidia.com/gpu.product=NVIDIA-A100-SXM4-40GB "
      "-- python3 /app/train.py");
  EXPECT_EQ(printed.code, 0) << printed.err;
  EXPECT_EQ(printed.err, "");
  const std::string path = TestDataPath("cli/worker_manifest.yaml");
  if (getenv("PACELINE_REWRITE") != nullptr) {
    std::ofstream(path) << printed.out;
    return;
  }
  std::ostringstream want;
  want << std::ifstream(path).rdbuf();
  EXPECT_EQ(printed.out, want.str());
}

TEST(ManifestCommandTest, WhatIsNotSaid) {
  CommandRunner command;
  const auto printed =
      command.Run(absl::StrCat(kLeast, "--insecure-plaintext"));
  EXPECT_EQ(printed.code, 0) << printed.err;
  EXPECT_THAT(
      printed.out,
      AllOf(HasSubstr("name: paceline-resnet\n"),
            HasSubstr("\"--pool=resnet\""),
            HasSubstr("\"--insecure-plaintext\""),
            HasSubstr(absl::StrCat("paceline/worker-cpu:", PACELINE_VERSION)),
            HasSubstr("type: Recreate"), Not(HasSubstr("secretName")),
            Not(HasSubstr("nvidia.com/gpu")), Not(HasSubstr("/data"))));
  const auto evaluator = command.Run(
      absl::StrCat(kLeast, "--insecure-plaintext --evaluator --replicas 2"));
  EXPECT_THAT(evaluator.out,
              AllOf(HasSubstr("name: paceline-resnet-evaluator\n"),
                    HasSubstr("\"--evaluator\""), HasSubstr("maxSurge: 0")));
}

TEST(ManifestCommandTest, WhatKubernetesWouldRefuseIsToldByItsFlag) {
  struct Case {
    std::string flags;
    std::vector<std::string> told;
  };
  const std::vector<Case> kCases = {
      {"", {"--tls-secret", "--insecure-plaintext"}},
      {"--insecure-plaintext --tls-secret t", {"either --tls-secret"}},
      {"--tls-secret t --name Big", {"--name \"Big\"", "small letters"}},
      {absl::StrCat("--tls-secret t --name ", std::string(47, 'a')),
       {"want 1 to 46"}},
      {"--tls-secret t --pool a/b", {"--pool"}},
      {"--tls-secret t --cpu lots", {"--cpu \"lots\"", "quantity"}},
      {"--tls-secret t --memory 0Gi", {"--memory \"0Gi\""}},
      {"--tls-secret t --memory nan", {"--memory \"nan\""}},
      {"--tls-secret t --shm-size -1Gi", {"--shm-size \"-1Gi\""}},
      {"--tls-secret t --weights-size 1.5Gi", {"whole number of Mi or Gi"}},
      {"--tls-secret t --weights-size 99999999999Gi", {"--weights-size"}},
      {"--tls-secret t --env A", {"--env \"A\": want KEY=VALUE"}},
      {"--tls-secret t --node-selector =b", {"--node-selector \"=b\""}},
      {"--tls-secret t --gpus -1", {"--gpus"}},
  };
  CommandRunner command;
  for (const Case& c : kCases) {
    const auto refused = command.Run(absl::StrCat(kLeast, c.flags));
    EXPECT_EQ(refused.code, 2) << c.flags << refused.out;
    EXPECT_EQ(refused.out, "") << c.flags;
    for (const std::string& text : c.told) {
      EXPECT_THAT(refused.err, HasSubstr(text)) << c.flags;
    }
  }
  const std::vector<std::pair<std::string, std::string>> kNames = {
      {"--program a:b --image i --coordinator c:1", "--program"},
      {"--program a --image i --coordinator c", "want host:port"},
      {"--program a --image i --coordinator c:99999", "99999"},
      {"--image i --coordinator c:1", "--program is required"},
  };
  for (const auto& [flags, told] : kNames) {
    const auto refused = command.Run(
        absl::StrCat("worker manifest --insecure-plaintext ", flags));
    EXPECT_EQ(refused.code, 2) << flags;
    EXPECT_THAT(refused.err, HasSubstr(told)) << flags;
  }
}

}  // namespace
}  // namespace paceline
