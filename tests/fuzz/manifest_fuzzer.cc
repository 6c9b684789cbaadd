// The manifest of a checkpoint.

#include "common/checkpoint/manifest.h"
#include "tests/fuzz/checkpoint_seed.h"
#include "tests/fuzz/fuzz_target.h"

namespace paceline {

std::vector<std::string> FuzzSeeds() {
  const std::string text = *FormatManifest(SeedManifest());
  return {text, "{\"format\":" + std::string(60'000, '['),
          R"({"format":"paceline-checkpoint","format_version":2})"};
}

void FuzzOne(absl::string_view input) {
  ExpectInvalidArgument(CheckFileName(input));
  const auto manifest = ParseManifest(input);
  ExpectCode(manifest.status(), {absl::StatusCode::kDataLoss,
                                 absl::StatusCode::kFailedPrecondition});
  if (!manifest.ok()) return;
  CHECK(CheckManifest(*manifest).ok());
  const auto text = FormatManifest(*manifest);
  CHECK(text.ok());
  const auto again = ParseManifest(*text);
  CHECK(again.ok() && *again == *manifest);
}

}  // namespace paceline
