// The file of one server in a checkpoint, whose manifest is sound and has its
// digest: without that, nothing beyond the digest would be reached.

#include <fstream>
#include <iterator>

#include "common/checkpoint/checkpoint_reader.h"
#include "common/checkpoint/checkpoint_tools.h"
#include "common/checkpoint/shard_file.h"
#include "tests/fuzz/checkpoint_seed.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/scratch_folder.h"

namespace paceline {
namespace {

const ScratchFolder& Folder() {
  static const ScratchFolder folder;
  return folder;
}

bool Never() { return false; }

}  // namespace

std::vector<std::string> FuzzSeeds() {
  const std::vector<float> values = {0, 1, 2, 3, 4, 5};
  const std::string path = Folder().path() + "/seed";
  std::vector<ShardBlock> blocks;
  for (const auto& [tensor, offset, size] :
       {std::tuple{"a", 0, 4}, std::tuple{"a", 4, 2}, std::tuple{"s", 0, 2}}) {
    blocks.push_back({.tensor = tensor,
                      .offset = static_cast<uint64_t>(offset),
                      .size = static_cast<uint64_t>(size),
                      .steps = 7,
                      .weights = values.data(),
                      .slots = {}});
    if (blocks.back().tensor == "a") blocks.back().slots = {values.data()};
  }
  CHECK(WriteShardFile(path, blocks, {"momentum"}, Never).ok());
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  Folder().Remove("seed");
  return {bytes};
}

void FuzzOne(absl::string_view input) {
  const ScratchFolder& folder = Folder();
  folder.Write(kSeedFile, input);
  folder.Write(kManifestName, *FormatManifest(SeedManifestOf(input)));

  const auto report = VerifyCheckpoint(folder.path());
  CHECK(report.ok());
  const auto reader = CheckpointReader::Open(folder.path());
  CHECK(reader.ok());
  bool all_read = true;
  for (const auto& [tensor, size] : {std::pair{"a", 6}, std::pair{"s", 2}}) {
    const auto block = (*reader)->ReadBlock(tensor, 0, size);
    ExpectDataLoss(block.status());
    all_read = all_read && block.ok();
    if (block.ok()) CHECK(block->weights.size() == static_cast<size_t>(size));
  }
  // What verification has nothing against can be restored.
  if (report->problems.empty()) CHECK(all_read);
  const std::string out = folder.path() + "/exported";
  ExpectDataLoss(ExportCheckpoint(folder.path(), out).status());
  folder.Remove("exported");
}

}  // namespace paceline
