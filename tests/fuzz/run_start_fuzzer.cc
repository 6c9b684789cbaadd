// Where a checkpoint says that its job goes on.

#include "services/coordinator/run/checkpoint_files.h"
#include "services/coordinator/sync/core/sample_dealer.h"
#include "tests/fuzz/checkpoint_seed.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/scratch_folder.h"

namespace paceline {
namespace {

constexpr uint32_t kSamples = 100;

}  // namespace

std::vector<std::string> FuzzSeeds() {
  return {R"({"nextEpoch":1,"nextBegin":64,"open":[{"begin":3,"end":9},)"
          R"({"epoch":1,"begin":0,"end":8}]})",
          "{}", R"({"next_begin":100})",
          R"({"nextEpoch":2,"open":[{"begin":5,"end":9,"parts":3}]})",
          R"({"open":[{"epoch":4294967295,"begin":7,"end":7}]})"};
}

void FuzzOne(absl::string_view input) {
  static const ScratchFolder folder;
  CheckpointManifest manifest = SeedManifest();
  manifest.position_json = std::string(input);
  const auto text = FormatManifest(manifest);
  if (!text.ok()) return;
  folder.Write(kManifestName, *text);
  const auto start = ReadRunStart(folder.path());
  ExpectDataLoss(start.status());
  if (!start.ok()) return;
  CHECK(start->tensors.size() == manifest.tensors.size());
  CHECK(FromWire(ToWire(start->position)) == start->position);
  const absl::Status fits = CheckPosition(start->position, kSamples);
  ExpectInvalidArgument(fits);
  if (!fits.ok()) return;
  // Whatever is still open is dealt, once.
  const int64_t counted = SamplesCounted(start->position, kSamples);
  CHECK(counted >= 0);
  const uint32_t epochs = start->position.next_epoch + 1;
  if (epochs > 50) return;
  SampleDealer dealer(kSamples, epochs, /*batch_size=*/7);
  dealer.StartAt(start->position);
  CHECK(dealer.Position() == start->position);
  int64_t dealt = 0;
  while (const auto range = dealer.Deal()) dealt += range->end - range->begin;
  CHECK(counted + dealt == int64_t{kSamples} * epochs);
  // Also to who would have a part of it.
  SampleDealer parts(kSamples, epochs, /*batch_size=*/7,
                     DataAssignment::kStatic);
  parts.StartAt(start->position);
  constexpr WorkerId kWorker{0};
  parts.Begin({kWorker});
  int64_t of_parts = 0;
  while (const auto range = parts.Deal(7, kWorker)) of_parts += range->size();
  CHECK(of_parts == dealt);
}

}  // namespace paceline
