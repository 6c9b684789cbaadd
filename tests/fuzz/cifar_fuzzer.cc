// The binary records of CIFAR-10 and CIFAR-100.

#include "services/worker/data/image_files.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/scratch_folder.h"

namespace paceline {
namespace {

void CheckLoaded(const absl::StatusOr<Dataset>& data, int classes) {
  ExpectDataLoss(data.status());
  if (!data.ok()) return;
  CHECK(data->classes() == classes);
  CHECK(data->pixels().size() == size_t{data->size()} * 3072);
  for (const uint8_t label : data->labels()) CHECK(label < classes);
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  const std::string record = "\x03" + std::string(3072, '\x40');
  const std::string fine = "\xff\x63" + std::string(3072, '\x40');
  return {record, record + record, record + "x", "\x0a" + record.substr(1),
          fine, fine + fine, fine + "x", "\xff\x64" + fine.substr(2),
          // As gzip, which the format is not.
          "\x1f\x8b\x08" + record.substr(3)};
}

void FuzzOne(absl::string_view input) {
  static const ScratchFolder folder;
  for (const char* name :
       {"test_batch.bin", "data_batch_3.bin", "train.bin", "test.bin"}) {
    folder.Write(name, input);
  }
  for (const Split split : {Split::kTest, Split::kTrain}) {
    CheckLoaded(LoadCifar10(folder.path(), split), 10);
    CheckLoaded(LoadCifar100(folder.path(), split), 100);
  }
}

}  // namespace paceline
