#include "services/worker/data/cifar10.h"

#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "services/worker/data/byte_file.h"

namespace paceline {
namespace {

constexpr uint64_t kPixels = 3 * 32 * 32;
constexpr uint64_t kRecord = 1 + kPixels;
constexpr uint64_t kRecordsMax = 100'000;
constexpr int kBatches = 5;

// Not of a compressed file: the format has none.
absl::StatusOr<uint64_t> SizeOf(const std::string& path) {
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path, error);
  if (!error) return size;
  return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot open ", path));
}

absl::Status AppendBatch(const std::string& path, RawImages& raw) {
  PACELINE_ASSIGN_OR_RETURN(const uint64_t size, SizeOf(path));
  const uint64_t count = size / kRecord;
  if (size % kRecord != 0 || count < 1 || count > kRecordsMax) {
    return absl::DataLossError(absl::StrCat(
        path, ": ", size, " bytes are not 1 to ", kRecordsMax, " records of ",
        kRecord, "; truncated or not CIFAR-10's binary version"));
  }
  PACELINE_ASSIGN_OR_RETURN(ByteFile file, ByteFile::Open(path));
  for (uint64_t i = 0; i < count; ++i) {
    PACELINE_RETURN_IF_ERROR(file.Read(1, raw.labels));
    PACELINE_RETURN_IF_ERROR(file.Read(kPixels, raw.pixels));
  }
  return file.ExpectEnd();
}

}  // namespace

absl::StatusOr<Dataset> LoadCifar10(const std::string& folder, Split split) {
  RawImages raw;
  raw.shape = {3, 32, 32};
  raw.classes = 10;
  // The whole training split's.
  raw.normalization = {
      {0.4914f, 0.2470f}, {0.4822f, 0.2435f}, {0.4465f, 0.2616f}};
  std::vector<std::string> paths;
  if (split == Split::kTest) {
    paths.push_back(absl::StrCat(folder, "/test_batch.bin"));
  } else {
    for (int i = 1; i <= kBatches; ++i) {
      std::string path = absl::StrCat(folder, "/data_batch_", i, ".bin");
      std::error_code error;
      if (std::filesystem::exists(path, error)) paths.push_back(path);
    }
  }
  if (paths.empty()) {
    return absl::NotFoundError(absl::StrCat(
        folder, "/data_batch_1.bin: no such file, nor any other data_batch"));
  }
  for (const std::string& path : paths) {
    PACELINE_RETURN_IF_ERROR(AppendBatch(path, raw));
  }
  return Dataset::Create(paths.front(), std::move(raw));
}

}  // namespace paceline
