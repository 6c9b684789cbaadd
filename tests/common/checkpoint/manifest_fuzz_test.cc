#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "common/checkpoint/manifest.h"
#include "common/rng.h"
#include "tests/common/checkpoint/checkpoint_samples.h"
#include "tests/common/seed_count.h"

namespace paceline {
namespace {

// Whatever the bytes: an error, or a manifest that is sound and can be written
// again.
TEST(ManifestFuzzTest, DamagedManifestsAreRefusedOrSound) {
  const std::string text = *FormatManifest(SampleManifest());
  const std::vector<std::string> pieces = {"[",  "]", "{",   "}",    "\"",  ",",
                                           "-1", "0", "1e9", "null", "true"};
  int sound = 0;
  for (uint64_t seed = 0; seed < SeedCount(5'000); ++seed) {
    Rng rng(seed);
    std::string damaged = text;
    for (uint64_t i = 0; i <= rng.Below(3); ++i) {
      const size_t at = rng.Below(damaged.size());
      switch (rng.Below(3)) {
        case 0:
          damaged[at] = static_cast<char>(rng.Below(256));
          break;
        case 1:
          damaged.erase(at, 1 + rng.Below(9));
          break;
        default:
          damaged.insert(at, pieces[rng.Below(pieces.size())]);
      }
    }
    const auto parsed = ParseManifest(damaged);
    if (!parsed.ok()) {
      ASSERT_TRUE(absl::IsDataLoss(parsed.status()) ||
                  absl::IsFailedPrecondition(parsed.status()))
          << parsed.status();
      continue;
    }
    ++sound;
    const auto again = FormatManifest(*parsed);
    ASSERT_TRUE(again.ok()) << again.status();
    ASSERT_EQ(*ParseManifest(*again), *parsed);
  }
  EXPECT_GT(sound, 0) << "or the mutations are too coarse";
}

}  // namespace
}  // namespace paceline
