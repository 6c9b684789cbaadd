#include "services/worker/data/image_files.h"

#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/job/names.h"
#include "common/job/normalization.h"
#include "common/status.h"
#include "services/worker/data/byte_file.h"

namespace paceline {
namespace {

// IDX magic numbers: unsigned bytes in three dimensions, and in one.
constexpr uint32_t kImagesMagic = 0x00000803;
constexpr uint32_t kLabelsMagic = 0x00000801;

constexpr uint32_t kCountMax = 10'000'000;
constexpr uint32_t kSideMax = 1024;
constexpr uint64_t kBytesMax = uint64_t{2} << 30;

absl::StatusOr<ByteFile> OpenPlainOrGz(const std::string& path) {
  absl::StatusOr<ByteFile> plain = ByteFile::Open(path);
  if (!absl::IsNotFound(plain.status())) return plain;
  absl::StatusOr<ByteFile> packed = ByteFile::Open(absl::StrCat(path, ".gz"));
  if (!absl::IsNotFound(packed.status())) return packed;
  return absl::NotFoundError(
      absl::StrCat(path, ": no such file, plain or .gz"));
}

absl::Status ExpectMagic(ByteFile& file, uint32_t want) {
  PACELINE_ASSIGN_OR_RETURN(const uint32_t magic, file.ReadBigEndian());
  if (magic == want) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrFormat("%s: wrong magic number 0x%08x, an IDX file of this kind "
                      "begins with 0x%08x",
                      file.path(), magic, want));
}

// A number of the header, between 1 and max.
absl::StatusOr<uint32_t> ReadExtent(ByteFile& file, const char* what,
                                    uint32_t max) {
  PACELINE_ASSIGN_OR_RETURN(const uint32_t extent, file.ReadBigEndian());
  if (extent >= 1 && extent <= max) return extent;
  return absl::DataLossError(absl::StrCat(
      file.path(), ": header names ", extent, " ", what, ", want 1 to ", max));
}

absl::Status ReadImages(const std::string& path, RawImages& raw) {
  PACELINE_ASSIGN_OR_RETURN(ByteFile file, OpenPlainOrGz(path));
  PACELINE_RETURN_IF_ERROR(ExpectMagic(file, kImagesMagic));
  PACELINE_ASSIGN_OR_RETURN(const uint32_t count,
                            ReadExtent(file, "images", kCountMax));
  PACELINE_ASSIGN_OR_RETURN(const uint32_t height,
                            ReadExtent(file, "rows", kSideMax));
  PACELINE_ASSIGN_OR_RETURN(const uint32_t width,
                            ReadExtent(file, "columns", kSideMax));
  const uint64_t bytes = uint64_t{count} * height * width;
  if (bytes > kBytesMax) {
    return absl::DataLossError(absl::StrCat(file.path(), ": header names ",
                                            bytes, " bytes of images, at most ",
                                            kBytesMax, " are taken"));
  }
  raw.shape = {1, static_cast<int>(height), static_cast<int>(width)};
  PACELINE_RETURN_IF_ERROR(file.Read(bytes, raw.pixels));
  return file.ExpectEnd();
}

absl::Status ReadLabels(const std::string& path, RawImages& raw) {
  PACELINE_ASSIGN_OR_RETURN(ByteFile file, OpenPlainOrGz(path));
  PACELINE_RETURN_IF_ERROR(ExpectMagic(file, kLabelsMagic));
  PACELINE_ASSIGN_OR_RETURN(const uint32_t count,
                            ReadExtent(file, "labels", kCountMax));
  PACELINE_RETURN_IF_ERROR(file.Read(count, raw.labels));
  return file.ExpectEnd();
}

constexpr uint64_t kPixels = 3 * 32 * 32;
constexpr uint64_t kRecordsMax = 100'000;
constexpr int kBatches = 5;

// What CIFAR's two data sets differ in.
struct CifarFormat {
  const char* name;
  uint64_t coarse_labels;  // Bytes of each record in front of its label.
  int classes;
  absl::string_view data;  // As a job names it.

  uint64_t record() const { return coarse_labels + 1 + kPixels; }
};

// Not of a compressed file: the format has none.
absl::StatusOr<uint64_t> SizeOf(const std::string& path) {
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path, error);
  if (!error) return size;
  return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot open ", path));
}

absl::Status AppendRecords(const CifarFormat& format, const std::string& path,
                           RawImages& raw) {
  PACELINE_ASSIGN_OR_RETURN(const uint64_t size, SizeOf(path));
  const uint64_t count = size / format.record();
  if (size % format.record() != 0 || count < 1 || count > kRecordsMax) {
    return absl::DataLossError(
        absl::StrCat(path, ": ", size, " bytes are not 1 to ", kRecordsMax,
                     " records of ", format.record(), "; truncated or not ",
                     format.name, "'s binary version"));
  }
  PACELINE_ASSIGN_OR_RETURN(ByteFile file, ByteFile::Open(path));
  std::vector<uint8_t> unused;
  for (uint64_t i = 0; i < count; ++i) {
    unused.clear();
    PACELINE_RETURN_IF_ERROR(file.Read(format.coarse_labels, unused));
    PACELINE_RETURN_IF_ERROR(file.Read(1, raw.labels));
    PACELINE_RETURN_IF_ERROR(file.Read(kPixels, raw.pixels));
  }
  return file.ExpectEnd();
}

absl::StatusOr<Dataset> LoadCifar(const CifarFormat& format,
                                  const std::vector<std::string>& paths) {
  RawImages raw;
  raw.shape = {3, 32, 32};
  raw.classes = format.classes;
  raw.normalization = NormalizationOf(format.data);
  for (const std::string& path : paths) {
    PACELINE_RETURN_IF_ERROR(AppendRecords(format, path, raw));
  }
  return Dataset::Create(paths.front(), std::move(raw));
}

}  // namespace

absl::StatusOr<Dataset> LoadMnist(const std::string& folder, Split split) {
  const std::string prefix =
      absl::StrCat(folder, split == Split::kTrain ? "/train" : "/t10k");
  RawImages raw;
  raw.classes = 10;
  raw.normalization = NormalizationOf(kMnist);
  const std::string images = absl::StrCat(prefix, "-images-idx3-ubyte");
  const std::string labels = absl::StrCat(prefix, "-labels-idx1-ubyte");
  PACELINE_RETURN_IF_ERROR(ReadImages(images, raw));
  PACELINE_RETURN_IF_ERROR(ReadLabels(labels, raw));
  const auto count = raw.pixels.size() / static_cast<size_t>(raw.shape.size());
  if (count != raw.labels.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(labels, ": ", raw.labels.size(), " labels for ", count,
                     " images; the two files do not belong together"));
  }
  return Dataset::Create(labels, std::move(raw));
}

absl::StatusOr<Dataset> LoadCifar10(const std::string& folder, Split split) {
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
  return LoadCifar({"CIFAR-10", 0, 10, kCifar10}, paths);
}

absl::StatusOr<Dataset> LoadCifar100(const std::string& folder, Split split) {
  return LoadCifar(
      {"CIFAR-100", 1, 100, kCifar100},
      {absl::StrCat(folder,
                    split == Split::kTrain ? "/train.bin" : "/test.bin")});
}

}  // namespace paceline
