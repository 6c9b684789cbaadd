#include "services/worker/data/mnist.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
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

}  // namespace

absl::StatusOr<Dataset> LoadMnist(const std::string& folder, Split split) {
  const std::string prefix =
      absl::StrCat(folder, split == Split::kTrain ? "/train" : "/t10k");
  RawImages raw;
  raw.classes = 10;
  // The training split's, as everybody uses them.
  raw.normalization = {{0.1307f, 0.3081f}};
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

}  // namespace paceline
