#include "common/checkpoint/manifest.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/safetensors/durable_file.h"
#include "common/safetensors/input_file.h"
#include "common/status.h"

namespace paceline {
namespace {

constexpr size_t kFileNameMax = 200;  // Leaves room for ".tmp-...".
// A million blocks take a quarter of it.
constexpr uint64_t kManifestBytesMax = uint64_t{512} << 20;

std::string PathOf(const std::string& folder, absl::string_view name) {
  return absl::StrCat(folder, "/", name);
}

}  // namespace

std::string ShardFileName(size_t server, size_t servers) {
  return absl::StrCat("server-", server, "-of-", servers, ".safetensors");
}

uint64_t TensorSize(const CheckpointTensor& tensor) {
  uint64_t size = 1;
  for (const int64_t extent : tensor.shape) {
    size *= static_cast<uint64_t>(extent);
  }
  return size;
}

absl::Status CheckFileName(absl::string_view name) {
  const bool plain =
      !name.empty() && name.size() <= kFileNameMax && name.front() != '.' &&
      absl::EndsWith(name, ".safetensors") &&
      std::all_of(name.begin(), name.end(), [](char c) {
        return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
               absl::StrContains("-_.", c);
      });
  if (plain) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "a checkpoint's file needs a plain name of letters, digits, - and _, "
      "such as \"server-0-of-1.safetensors\", without a folder");
}

absl::StatusOr<CheckpointManifest> ReadManifest(const std::string& folder) {
  const std::string path = PathOf(folder, kManifestName);
  const auto text = ReadWholeFile(path, kManifestBytesMax);
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(absl::StrCat(
        folder, " is no complete checkpoint: it has no ", kManifestName));
  }
  PACELINE_RETURN_IF_ERROR(text.status());
  auto manifest = ParseManifest(*text);
  if (!manifest.ok()) return Annotate(manifest.status(), path);
  return manifest;
}

absl::Status WriteManifest(const std::string& folder,
                           const CheckpointManifest& manifest) {
  PACELINE_ASSIGN_OR_RETURN(const std::string text, FormatManifest(manifest));
  for (const CheckpointFile& file : manifest.files) {
    const auto opened = InputFile::Open(PathOf(folder, file.name));
    if (opened.ok() && opened->size() == file.bytes) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "the checkpoint ", folder, " is not whole: ",
        opened.ok() ? absl::StrCat(file.name, " has ", opened->size(),
                                   " bytes, not ", file.bytes)
                    : std::string(opened.status().message())));
  }
  PACELINE_ASSIGN_OR_RETURN(DurableFile file,
                            DurableFile::Create(PathOf(folder, kManifestName)));
  PACELINE_RETURN_IF_ERROR(file.Write(text));
  return file.Commit().status();
}

}  // namespace paceline
