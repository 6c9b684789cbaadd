#ifndef PACELINE_TESTS_FUZZ_CHECKPOINT_SEED_H_
#define PACELINE_TESTS_FUZZ_CHECKPOINT_SEED_H_

#include <string>

#include "common/checkpoint/manifest.h"
#include "common/safetensors/sha256.h"

namespace paceline {

inline constexpr absl::string_view kSeedFile = "server-0-of-1.safetensors";

// A checkpoint of one file: tensor "a" of 2 x 3 in two blocks, a statistic "s"
// of 2, an optimizer with a momentum.
inline CheckpointManifest SeedManifest() {
  CheckpointManifest manifest;
  manifest.paceline_version = "0.1.0";
  manifest.job = "namespaces/default/jobs/mnist";
  manifest.spec_json = R"({"model":"lenet5","workers":{"max":6}})";
  manifest.create_time = absl::FromUnixSeconds(1'790'000'000);
  manifest.seconds = 12.5;
  manifest.version = 40;
  manifest.version_at_completion = 42;
  manifest.samples = 1280;
  manifest.position_json = R"({"nextBegin":64,"open":[{"begin":3,"end":9}]})";
  manifest.optimizer_slots = {"momentum"};
  manifest.tensors = {
      {.name = "a", .shape = {2, 3}},
      {.name = "s", .shape = {2}, .kind = TensorKind::kStatistic}};
  manifest.blocks = {{.id = 0, .tensor = 0, .offset = 0, .size = 4, .file = 0},
                     {.id = 1, .tensor = 0, .offset = 4, .size = 2, .file = 0},
                     {.id = 2, .tensor = 1, .offset = 0, .size = 2, .file = 0}};
  manifest.files = {{.name = std::string(kSeedFile),
                     .bytes = 1000,
                     .sha256 = std::string(64, 'a')}};
  return manifest;
}

// The same, of the file that has these bytes.
inline CheckpointManifest SeedManifestOf(absl::string_view file) {
  CheckpointManifest manifest = SeedManifest();
  manifest.files[0].bytes = file.size();
  manifest.files[0].sha256 = HexSha256(file);
  return manifest;
}

}  // namespace paceline

#endif  // PACELINE_TESTS_FUZZ_CHECKPOINT_SEED_H_
