#include "common/checkpoint/checkpoint_tools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "common/safetensors/safetensors_reader.h"
#include "tests/common/checkpoint/checkpoint_samples.h"
#include "tests/common/safetensors/numpy_reader.h"
#include "tests/services/worker/data/scratch_folder.h"

namespace paceline {
namespace {

using absl::StatusCode;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> Problems(const ScratchFolder& folder) {
  const auto report = VerifyCheckpoint(folder.path());
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? report->problems : std::vector<std::string>();
}

TEST(VerifyCheckpointTest, AWholeOneHasNoProblems) {
  const ScratchFolder folder;
  const CheckpointManifest manifest = WriteSample(folder.path());
  const auto report = VerifyCheckpoint(folder.path());
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->problems, IsEmpty());
  EXPECT_EQ(report->manifest, manifest);
  EXPECT_EQ(report->bytes, manifest.files[0].bytes + manifest.files[1].bytes);
}

TEST(VerifyCheckpointTest, ListsEveryProblem) {
  const ScratchFolder folder;
  WriteSample(folder.path());
  Bytes flipped = folder.Read(ShardFileName(0, 2));
  flipped.back() ^= 1;
  folder.Write(ShardFileName(0, 2), flipped);
  folder.Remove(ShardFileName(1, 2));
  EXPECT_THAT(Problems(folder),
              ElementsAre(HasSubstr("server-0-of-2.safetensors has changed "
                                    "since it was written"),
                          HasSubstr("server-1-of-2.safetensors is missing")));
}

// A file whose digest is right, but whose contents are not what the manifest
// promises: as a fault of ours would write it.
TEST(VerifyCheckpointTest, ComparesTheContentsWithTheManifest) {
  const ScratchFolder folder;
  CheckpointManifest manifest = SampleManifest();
  const auto write = [&](size_t file, std::vector<SafetensorsTensor> tensors,
                         const std::string& bytes) {
    auto writer = SafetensorsWriter::Create(
        folder.path() + "/" + manifest.files[file].name, {},
        std::move(tensors));
    ASSERT_TRUE(writer.ok() && writer->Append(bytes).ok());
    const auto written = writer->Commit();
    ASSERT_TRUE(written.ok());
    manifest.files[file].bytes = written->bytes;
    manifest.files[file].sha256 = written->sha256;
  };
  using Type = SafetensorsType;
  write(0, {{"x", Type::kU8, {1}}}, "x");
  const float infinity = std::numeric_limits<float>::infinity();
  std::string floats(4 * 3 + 2, '\0');
  floats.append(reinterpret_cast<const char*>(&infinity), 4);
  floats += std::string(8, '\xFF');
  floats += std::string(8, '\0');
  write(1,
        {{"a/4", Type::kF32, {3}},
         {"a/4/momentum", Type::kF16, {1}},
         {"s/0", Type::kF32, {1}},
         {"a/4/steps", Type::kI64, {1}},
         {"s/0/steps", Type::kI64, {1}}},
        floats);
  ASSERT_TRUE(WriteManifest(folder.path(), manifest).ok());
  EXPECT_THAT(Problems(folder),
              ElementsAre(HasSubstr("\"a/0\" is missing"),
                          HasSubstr("\"a/0/momentum\" is missing"),
                          HasSubstr("\"a/0/steps\" is missing"),
                          HasSubstr("\"a/7\" is missing"),
                          HasSubstr("\"a/7/momentum\" is missing"),
                          HasSubstr("\"a/7/steps\" is missing"),
                          HasSubstr("\"x\" is in no block of the manifest"),
                          HasSubstr("\"a/4/momentum\" is not F32 [3]"),
                          HasSubstr("\"a/4/steps\" is negative"),
                          HasSubstr("\"s/0\" is not F32 [3]")));
}

TEST(VerifyCheckpointTest, FindsValuesThatAreNotFinite) {
  const ScratchFolder folder;
  CheckpointManifest manifest = SampleManifest();
  manifest.tensors.resize(1);
  manifest.tensors[0].shape = {2};
  manifest.optimizer_slots.clear();
  manifest.blocks = {{.id = 0, .tensor = 0, .offset = 0, .size = 2, .file = 0}};
  manifest.files.resize(1);
  auto writer = SafetensorsWriter::Create(
      folder.path() + "/" + manifest.files[0].name, {},
      {{"a/0/steps", SafetensorsType::kI64, {1}},
       {"a/0", SafetensorsType::kF32, {2}}});
  ASSERT_TRUE(writer.ok());
  const float nan = std::numeric_limits<float>::quiet_NaN();
  ASSERT_TRUE(writer->Append(std::string(12, '\0')).ok());
  ASSERT_TRUE(writer->Append({reinterpret_cast<const char*>(&nan), 4}).ok());
  const auto written = writer->Commit();
  manifest.files[0].bytes = written->bytes;
  manifest.files[0].sha256 = written->sha256;
  ASSERT_TRUE(WriteManifest(folder.path(), manifest).ok());
  EXPECT_THAT(Problems(folder),
              ElementsAre(HasSubstr("\"a/0\" has a value that is not finite")));
}

TEST(VerifyCheckpointTest, WithoutAManifestThereIsNothingToCompare) {
  const ScratchFolder folder;
  EXPECT_EQ(VerifyCheckpoint(folder.path()).status().code(),
            StatusCode::kNotFound);
  folder.Write("manifest.json", {'{'});
  EXPECT_EQ(VerifyCheckpoint(folder.path()).status().code(),
            StatusCode::kDataLoss);
}

using testing::ElementsAreArray;

TEST(ExportCheckpointTest, GivesWholeTensorsByNameAndShape) {
  const ScratchFolder folder;
  WriteSample(folder.path() + "/c");
  const std::string out = folder.path() + "/model.safetensors";
  const auto written = ExportCheckpoint(folder.path() + "/c", out);
  ASSERT_TRUE(written.ok()) << written.status();
  const auto reader = SafetensorsReader::Open(out);
  ASSERT_TRUE(reader.ok()) << reader.status();
  ASSERT_EQ(reader->header().tensors.size(), 2u);
  const SafetensorsTensor* a = reader->Find("a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->shape, (std::vector<uint64_t>{2, 6}));
  std::vector<float> values(12);
  ASSERT_TRUE(
      reader
          ->Read(*a, 0,
                 absl::MakeSpan(reinterpret_cast<char*>(values.data()), 48))
          .ok());
  EXPECT_THAT(values, ElementsAreArray(Count(0, 1, 12)));
}

TEST(ExportCheckpointTest, PythonReadsIt) {
  const ScratchFolder folder;
  WriteSample(folder.path() + "/c");
  const std::string out = folder.path() + "/model.safetensors";
  ASSERT_TRUE(ExportCheckpoint(folder.path() + "/c", out).ok());
  const auto read = ReadWithNumpy(out);
  if (!read.has_value()) GTEST_SKIP() << "no python3 with numpy here";
  EXPECT_EQ(*read,
            "a F32 [2, 6] 66.0 0.0 11.0\n"
            "s F32 [3] -3.0 0.0 -2.0\n");
}

TEST(ExportCheckpointTest, OfADamagedOneLeavesNothing) {
  const ScratchFolder folder;
  WriteSample(folder.path());
  Bytes flipped = folder.Read(ShardFileName(1, 2));
  flipped.back() ^= 1;
  folder.Write(ShardFileName(1, 2), flipped);
  const std::string out = folder.path() + "/model.safetensors";
  EXPECT_EQ(ExportCheckpoint(folder.path(), out).status().code(),
            StatusCode::kDataLoss);
  EXPECT_FALSE(std::filesystem::exists(out));
  EXPECT_EQ(ExportCheckpoint("/nowhere", out).status().code(),
            StatusCode::kNotFound);
}

}  // namespace

}  // namespace paceline
