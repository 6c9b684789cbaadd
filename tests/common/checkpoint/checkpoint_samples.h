#ifndef PACELINE_TESTS_COMMON_CHECKPOINT_CHECKPOINT_SAMPLES_H_
#define PACELINE_TESTS_COMMON_CHECKPOINT_CHECKPOINT_SAMPLES_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/manifest.h"
#include "common/checkpoint/shard_file.h"

namespace paceline {

// A checkpoint of two files. Tensor "a", 2 x 6, is cut at 4 and 7, "s" is a
// statistic of 3; the optimizer keeps a momentum. Element i of "a" is i, its
// momentum 100 + i; element i of "s" is -i.
inline CheckpointManifest SampleManifest() {
  CheckpointManifest manifest;
  manifest.paceline_version = "0.1.0";
  manifest.job = "namespaces/default/jobs/mnist";
  manifest.spec_json = R"({"model":"lenet5","workers":{"max":6,"min":2}})";
  manifest.create_time = absl::FromUnixMicros(1'790'000'000'123'456);
  manifest.seconds = 12.5;
  manifest.version = 40;
  manifest.version_at_completion = 42;
  manifest.samples = 1280;
  manifest.exact = false;
  manifest.position_json = R"({"nextBegin":64,"open":[{"begin":3,"end":9}]})";
  manifest.optimizer_slots = {"momentum"};
  manifest.tensors = {
      {.name = "a", .shape = {2, 6}, .kind = TensorKind::kTrained},
      {.name = "s", .shape = {3}, .kind = TensorKind::kStatistic}};
  manifest.blocks = {{.id = 0, .tensor = 0, .offset = 0, .size = 4, .file = 0},
                     {.id = 1, .tensor = 0, .offset = 4, .size = 3, .file = 1},
                     {.id = 2, .tensor = 0, .offset = 7, .size = 5, .file = 0},
                     {.id = 3, .tensor = 1, .offset = 0, .size = 3, .file = 1}};
  const std::string digest(64, 'a');
  manifest.files = {{ShardFileName(0, 2), 1000, digest},
                    {ShardFileName(1, 2), 1000, digest}};
  return manifest;
}

// Steps of the sample's blocks, by id.
inline constexpr uint64_t kSampleSteps[] = {7, 9, 8, 5};

inline std::vector<float> Count(float first, float step, size_t size) {
  std::vector<float> values(size);
  for (size_t i = 0; i < size; ++i) {
    values[i] = first + step * static_cast<float>(i);
  }
  return values;
}

// Writes the sample to `folder`; gives its manifest.
inline CheckpointManifest WriteSample(const std::string& folder) {
  std::filesystem::create_directories(folder);
  CheckpointManifest manifest = SampleManifest();
  const std::vector<float> a = Count(0, 1, 12);
  const std::vector<float> momentum = Count(100, 1, 12);
  const std::vector<float> s = Count(0, -1, 3);
  for (uint32_t file = 0; file < manifest.files.size(); ++file) {
    std::vector<ShardBlock> blocks;
    for (const CheckpointBlock& block : manifest.blocks) {
      if (block.file != file) continue;
      const bool statistic = block.tensor == 1;
      blocks.push_back({.tensor = manifest.tensors[block.tensor].name,
                        .offset = block.offset,
                        .size = block.size,
                        .steps = kSampleSteps[block.id],
                        .weights = (statistic ? s : a).data() + block.offset,
                        .slots = {}});
      if (!statistic) {
        blocks.back().slots = {momentum.data() + block.offset};
      }
    }
    const auto written =
        WriteShardFile(absl::StrCat(folder, "/", manifest.files[file].name),
                       blocks, manifest.optimizer_slots, [] { return false; });
    EXPECT_TRUE(written.ok()) << written.status();
    manifest.files[file].bytes = written->bytes;
    manifest.files[file].sha256 = written->sha256;
  }
  EXPECT_TRUE(WriteManifest(folder, manifest).ok());
  return manifest;
}

}  // namespace paceline

#endif  // PACELINE_TESTS_COMMON_CHECKPOINT_CHECKPOINT_SAMPLES_H_
