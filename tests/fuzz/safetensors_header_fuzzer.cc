// A safetensors header: the size before it and its JSON.

#include "common/safetensors/safetensors_header.h"
#include "tests/fuzz/fuzz_target.h"

namespace paceline {
namespace {

// Written again, and read again, it says the same.
void ExpectRoundTrip(SafetensorsHeader header, uint64_t data_bytes) {
  const auto written =
      FormatSafetensorsHeader(header.metadata, absl::MakeSpan(header.tensors));
  CHECK(written.ok());
  const absl::string_view text = *written;
  const auto size = ParseHeaderSize(text.substr(0, kSafetensorsPrefix),
                                    text.size() + data_bytes);
  CHECK(size.ok() && *size == text.size() - kSafetensorsPrefix);
  const auto again =
      ParseSafetensorsHeader(text.substr(kSafetensorsPrefix), data_bytes);
  CHECK(again.ok() && *again == header);
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  std::vector<SafetensorsTensor> tensors = {
      {.name = "w", .type = SafetensorsType::kF32, .shape = {2, 3}},
      {.name = "empty", .type = SafetensorsType::kI64, .shape = {0}},
      {.name = "scalar", .type = SafetensorsType::kBF16, .shape = {}}};
  const std::string header = *FormatSafetensorsHeader(
      {{"format", "pt"}, {"\"\n", "\xc3\xa9"}}, absl::MakeSpan(tensors));
  const std::string deep = "{\"a\":" + std::string(60'000, '[');
  return {header + std::string(26, 'x'),
          std::string("\x30\0\0\0\0\0\0\0", 8) + deep,
          std::string("\2\0\0\0\0\0\0\0{}", 10)};
}

void FuzzOne(absl::string_view input) {
  if (input.size() < kSafetensorsPrefix) return;
  const absl::string_view prefix = input.substr(0, kSafetensorsPrefix);
  const absl::string_view rest = input.substr(kSafetensorsPrefix);
  const auto size = ParseHeaderSize(prefix, input.size());
  ExpectDataLoss(size.status());
  if (size.ok()) CHECK(*size <= rest.size());
  // A wrong size would hide the JSON from most mutations.
  const size_t bytes = size.ok() ? *size : rest.size();
  const absl::string_view json = rest.substr(0, bytes);
  for (const uint64_t data_bytes : {uint64_t{rest.size() - bytes}, uint64_t{0},
                                    uint64_t{24}, ~uint64_t{0}}) {
    const auto header = ParseSafetensorsHeader(json, data_bytes);
    ExpectDataLoss(header.status());
    if (header.ok()) ExpectRoundTrip(*header, data_bytes);
  }
}

}  // namespace paceline
