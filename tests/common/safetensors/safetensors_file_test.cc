#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "common/safetensors/safetensors_reader.h"
#include "common/safetensors/safetensors_writer.h"
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

}  // namespace
}  // namespace paceline
