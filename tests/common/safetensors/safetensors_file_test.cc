#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/rng.h"
#include "common/safetensors/safetensors_header.h"
#include "common/safetensors/safetensors_reader.h"
#include "tests/common/safetensors/numpy_reader.h"
#include "tests/common/seed_count.h"
#include "tests/services/worker/data/scratch_folder.h"

namespace paceline {
namespace {

using absl::StatusCode;
using testing::HasSubstr;

const std::vector<SafetensorsTensor>& TwoTensors() {
  static const auto* const tensors = new std::vector<SafetensorsTensor>{
      {"a", SafetensorsType::kU8, {3}}, {"b", SafetensorsType::kF16, {2, 1}}};
  return *tensors;
}

std::string WriteFile(const ScratchFolder& folder) {
  const std::string path = folder.path() + "/t.safetensors";
  auto writer = SafetensorsWriter::Create(path, {}, TwoTensors());
  EXPECT_TRUE(writer.ok()) << writer.status();
  // Pieces need not end where tensors do.
  EXPECT_TRUE(writer->Append("xy").ok());
  EXPECT_TRUE(writer->Append("zabc").ok());
  EXPECT_TRUE(writer->Append("d").ok());
  const auto written = writer->Commit();
  EXPECT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(written->bytes, std::filesystem::file_size(path));
  return path;
}

TEST(SafetensorsFileTest, GivesBackWhatWasWritten) {
  const ScratchFolder folder;
  const auto reader = SafetensorsReader::Open(WriteFile(folder));
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ(reader->Find("c"), nullptr);
  const SafetensorsTensor* b = reader->Find("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->shape, (std::vector<uint64_t>{2, 1}));
  std::string bytes(3, ' ');
  ASSERT_TRUE(reader->Read(*b, 1, absl::MakeSpan(bytes.data(), 3)).ok());
  EXPECT_EQ(bytes, "bcd");
}

TEST(SafetensorsFileTest, WriterKnowsHowMuchIsToCome) {
  const ScratchFolder folder;
  const std::string path = folder.path() + "/t";
  auto writer = SafetensorsWriter::Create(path, {}, TwoTensors());
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->Append("xyzabc").ok());
  EXPECT_EQ(writer->Append("de").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(writer->Commit().status().code(), StatusCode::kFailedPrecondition);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(SafetensorsFileTest, DamageIsDataLossWithItsPlace) {
  const ScratchFolder folder;
  const std::string path = WriteFile(folder);
  const Bytes whole = folder.Read("t.safetensors");
  EXPECT_EQ(SafetensorsReader::Open(folder.path() + "/no").status().code(),
            StatusCode::kNotFound);
  // Every shorter file, and a longer one.
  for (size_t size = 0; size < whole.size() + 2; ++size) {
    if (size == whole.size()) continue;
    Bytes cut = whole;
    cut.resize(size);
    folder.Write("t.safetensors", cut);
    const auto reader = SafetensorsReader::Open(path);
    ASSERT_EQ(reader.status().code(), StatusCode::kDataLoss) << size;
    EXPECT_THAT(std::string(reader.status().message()), HasSubstr(path));
  }
}

TEST(SafetensorsFileTest, DigestIsTheWritersAndCanBeCancelled) {
  const ScratchFolder folder;
  const std::string path = folder.path() + "/t";
  auto writer = SafetensorsWriter::Create(
      path, {}, {{"a", SafetensorsType::kU8, {3 << 20}}});
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->Append(std::string(3 << 20, 'x')).ok());
  const auto written = writer->Commit();
  ASSERT_TRUE(written.ok());
  const auto reader = SafetensorsReader::Open(path);
  ASSERT_TRUE(reader.ok());
  const auto digest = reader->Digest([] { return false; });
  ASSERT_TRUE(digest.ok());
  EXPECT_EQ(digest->sha256, written->sha256);
  EXPECT_EQ(digest->bytes, written->bytes);
  EXPECT_EQ(reader->Digest([] { return true; }).status().code(),
            StatusCode::kCancelled);
}

// A reader that is not ours reads what we write.
TEST(SafetensorsNumpyTest, PythonReadsIt) {
  const ScratchFolder folder;
  const std::string path = folder.path() + "/t.safetensors";
  auto writer =
      SafetensorsWriter::Create(path, {{"format", "test"}},
                                {{"steps", SafetensorsType::kI64, {2}},
                                 {"fc.weight", SafetensorsType::kF32, {2, 3}}});
  ASSERT_TRUE(writer.ok()) << writer.status();
  const std::vector<int64_t> steps = {5, -7};
  const std::vector<float> weights = {0.5f, 1, 2, 3, 4, 1024.25f};
  ASSERT_TRUE(
      writer->Append({reinterpret_cast<const char*>(steps.data()), 16}).ok());
  ASSERT_TRUE(
      writer->Append({reinterpret_cast<const char*>(weights.data()), 24}).ok());
  ASSERT_TRUE(writer->Commit().ok());
  const auto read = ReadWithNumpy(path);
  if (!read.has_value()) GTEST_SKIP() << "no python3 with numpy here";
  EXPECT_EQ(*read,
            "steps I64 [2] -2.0 5.0 -7.0\n"
            "fc.weight F32 [2, 3] 1034.75 0.5 1024.25\n");
}

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
