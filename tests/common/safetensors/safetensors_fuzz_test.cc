#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/rng.h"
#include "common/safetensors/safetensors_header.h"
#include "tests/common/seed_count.h"

namespace paceline {
namespace {

// Text that is near enough to a header to get far into the parser.
std::string Mutated(std::string text, Rng& rng) {
  static const std::vector<std::string> kPieces = {
      "\"", "{",    "}",       "[",      "]",
      ",",  ":",    "\"F32\"", "0",      "18446744073709551615",
      "-1", "null", "1e400",   "\\u0000"};
  const uint64_t changes = 1 + rng.Below(4);
  for (uint64_t i = 0; i < changes && !text.empty(); ++i) {
    const size_t at = rng.Below(text.size());
    switch (rng.Below(4)) {
      case 0:
        text[at] = static_cast<char>(rng.Below(256));
        break;
      case 1:
        text.erase(at, 1 + rng.Below(20));
        break;
      case 2:
        text.insert(at, kPieces[rng.Below(kPieces.size())]);
        break;
      default:
        text.insert(at, text.substr(rng.Below(text.size()), rng.Below(60)));
    }
  }
  return text;
}

// Whatever the bytes: an error or a header that is sound, and whose format is
// read back as the same.
TEST(SafetensorsFuzzTest, DamagedHeadersAreRefusedOrSound) {
  std::vector<SafetensorsTensor> tensors = {
      {"a/0/steps", SafetensorsType::kI64, {1}},
      {"a/0", SafetensorsType::kF32, {5, 3}},
      {"b", SafetensorsType::kBF16, {2}}};
  const std::string formatted =
      *FormatSafetensorsHeader({{"k", "v"}}, absl::MakeSpan(tensors));
  const std::string json = formatted.substr(kSafetensorsPrefix);
  const uint64_t data = tensors.back().end;
  ASSERT_TRUE(ParseSafetensorsHeader(json, data).ok());
  int sound = 0;
  for (uint64_t seed = 0; seed < SeedCount(20'000); ++seed) {
    Rng rng(seed);
    const std::string text = Mutated(json, rng);
    auto parsed = ParseSafetensorsHeader(text, data);
    if (!parsed.ok()) {
      ASSERT_TRUE(absl::IsDataLoss(parsed.status())) << text;
      ASSERT_FALSE(parsed.status().message().empty());
      continue;
    }
    ++sound;
    uint64_t end = 0;
    for (const SafetensorsTensor& tensor : parsed->tensors) {
      ASSERT_EQ(tensor.begin, end) << text;
      end = tensor.end;
    }
    ASSERT_EQ(end, data) << text;
    std::vector<SafetensorsTensor> again = parsed->tensors;
    const auto rewritten =
        FormatSafetensorsHeader(parsed->metadata, absl::MakeSpan(again));
    ASSERT_TRUE(rewritten.ok()) << rewritten.status();
    ASSERT_EQ(
        *ParseSafetensorsHeader(rewritten->substr(kSafetensorsPrefix), data),
        *parsed);
  }
  EXPECT_GT(sound, 0) << "or the mutations are too coarse";
}

}  // namespace
}  // namespace paceline
