// CIFAR-10's binary records.

#include "services/worker/data/image_files.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/scratch_folder.h"

namespace paceline {

std::vector<std::string> FuzzSeeds() {
  const std::string record = "\x03" + std::string(3072, '\x40');
  return {record, record + record, record + "x", "\x0a" + record.substr(1),
          // As gzip, which the format is not.
          "\x1f\x8b\x08" + record.substr(3)};
}

void FuzzOne(absl::string_view input) {
  static const ScratchFolder folder;
  folder.Write("test_batch.bin", input);
  folder.Write("data_batch_3.bin", input);
  for (const Split split : {Split::kTest, Split::kTrain}) {
    const auto data = LoadCifar10(folder.path(), split);
    ExpectDataLoss(data.status());
    if (!data.ok()) continue;
    CHECK(data->pixels().size() == size_t{data->size()} * 3072);
    for (const uint8_t label : data->labels()) CHECK(label < 10);
  }
}

}  // namespace paceline
