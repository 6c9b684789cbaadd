#include "common/checkpoint/export_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "common/safetensors/safetensors_reader.h"
#include "tests/common/checkpoint/checkpoint_samples.h"
#include "tests/common/safetensors/numpy_reader.h"
#include "tests/services/worker/data/scratch_folder.h"

namespace paceline {
namespace {

using absl::StatusCode;
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
