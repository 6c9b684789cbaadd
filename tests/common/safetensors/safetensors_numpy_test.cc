#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/safetensors/safetensors_writer.h"
#include "tests/common/safetensors/numpy_reader.h"
#include "tests/services/worker/data/scratch_folder.h"

namespace paceline {
namespace {

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

}  // namespace
}  // namespace paceline
