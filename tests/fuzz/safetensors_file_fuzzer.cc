// A whole safetensors file, opened and read tensor by tensor.

#include "common/safetensors/input_file.h"
#include "common/safetensors/safetensors_reader.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/scratch_folder.h"

namespace paceline {

std::vector<std::string> FuzzSeeds() {
  std::vector<SafetensorsTensor> tensors = {
      {.name = "a", .type = SafetensorsType::kI64, .shape = {1}},
      {.name = "b", .type = SafetensorsType::kF32, .shape = {2, 2}}};
  const std::string header =
      *FormatSafetensorsHeader({}, absl::MakeSpan(tensors));
  return {header + std::string(24, 'x'), header, header + "x"};
}

void FuzzOne(absl::string_view input) {
  static const ScratchFolder folder;
  const std::string path = folder.Write("weights.safetensors", input);
  const auto whole = ReadWholeFile(path, /*max_bytes=*/4096);
  ExpectDataLoss(whole.status());
  CHECK(whole.ok() == (input.size() <= 4096));
  if (whole.ok()) CHECK(*whole == input);

  const auto file = SafetensorsReader::Open(path);
  ExpectDataLoss(file.status());
  if (!file.ok()) return;
  for (const SafetensorsTensor& tensor : file->header().tensors) {
    CHECK(file->Find(tensor.name) != nullptr);
    // Sound headers promise no more than the file has.
    CHECK(tensor.end <= input.size());
    std::string bytes(tensor.end - tensor.begin, '\0');
    CHECK(file->Read(tensor, 0, absl::MakeSpan(bytes)).ok());
    CHECK(bytes.empty() || input.find(bytes) != absl::string_view::npos);
  }
  CHECK(file->Digest([] { return false; }).ok());
}

}  // namespace paceline
