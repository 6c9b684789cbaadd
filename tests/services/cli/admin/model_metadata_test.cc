#include "services/cli/admin/model_metadata.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::Pair;

CheckpointManifest ManifestOf(const std::string& spec_json) {
  CheckpointManifest manifest;
  manifest.paceline_version = "0.1.0";
  manifest.job = "namespaces/default/jobs/mnist";
  manifest.spec_json = spec_json;
  manifest.samples = 640;
  manifest.version = 20;
  return manifest;
}

TEST(ModelMetadataTest, SaysWhatTheModelIsAndWhatItsInputsAre) {
  EXPECT_THAT(
      ModelMetadata(ManifestOf(R"({"model":"lenet5","data":"mnist:/data"})")),
      ElementsAre(Pair("data", "mnist:/data"), Pair("format", "pt"),
                  Pair("job", "namespaces/default/jobs/mnist"),
                  Pair("model", "lenet5"),
                  Pair("normalization", "[[0.1307, 0.3081]]"),
                  Pair("paceline_version", "0.1.0"), Pair("samples", "640"),
                  Pair("version", "20")));
}

TEST(ModelMetadataTest, SaysWhatWasMeasuredLast) {
  CheckpointManifest manifest = ManifestOf("{}");
  manifest.evaluation_json = R"({"accuracy":0.5,"samples":320})";
  EXPECT_THAT(ModelMetadata(manifest),
              testing::Contains(Pair("evaluation", manifest.evaluation_json)));
}

TEST(ModelMetadataTest, EachChannelHasItsNormalization) {
  const auto of = [](const std::string& data) {
    const auto metadata =
        ModelMetadata(ManifestOf("{\"data\":\"" + data + "\"}"));
    const auto found = metadata.find("normalization");
    return found == metadata.end() ? "" : found->second;
  };
  EXPECT_EQ(of("cifar10:/data,augment=crop_flip"),
            "[[0.4914, 0.2470], [0.4822, 0.2435], [0.4465, 0.2616]]");
  EXPECT_EQ(of("cifar100:/data"),
            "[[0.5071, 0.2673], [0.4865, 0.2564], [0.4409, 0.2762]]");
  EXPECT_EQ(of("synthetic:color-shapes"), "[[0.5000, 0.2500]]");
  EXPECT_EQ(of("program"), "");
  EXPECT_EQ(of(""), "");
}

TEST(ModelMetadataTest, LeavesOutWhatIsNotKnown) {
  for (const char* const spec : {"{}", "[]", "no JSON", R"({"model":5})"}) {
    CheckpointManifest manifest = ManifestOf(spec);
    manifest.job.clear();
    EXPECT_THAT(
        ModelMetadata(manifest),
        ElementsAre(Pair("format", "pt"), Pair("paceline_version", "0.1.0"),
                    Pair("samples", "640"), Pair("version", "20")))
        << spec;
  }
}

}  // namespace
}  // namespace paceline
