#include "common/checkpoint/shared_folder.h"

#include <algorithm>
#include <memory>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "common/checkpoint/file_store.h"
#include "common/object_store/s3_uri.h"
#include "common/status.h"

namespace paceline {
namespace {

// More than an id has.
constexpr size_t kMostBytes = 256;

std::string IdFileOf(const std::string& path) {
  return PathIn(path, kFolderIdFile);
}

// NOT_FOUND if there is no such file.
absl::StatusOr<std::string> ReadId(const FileStore& files,
                                   const std::string& path) {
  PACELINE_ASSIGN_OR_RETURN(const std::unique_ptr<ByteSource> file,
                            files.Open(IdFileOf(path)));
  std::string id(std::min<uint64_t>(file->size(), kMostBytes), '\0');
  PACELINE_RETURN_IF_ERROR(file->Read(0, absl::MakeSpan(id.data(), id.size())));
  const absl::string_view named = absl::StripSuffix(id, "\n");
  if (named.empty() || named.size() == kMostBytes) {
    return absl::DataLossError(absl::StrCat(
        file->path(), " holds no id: delete it, and it is made anew"));
  }
  return std::string(named);
}

std::string DrawName() {
  std::random_device device;
  return absl::StrFormat("%08x%08x", device(), device());
}

}  // namespace

absl::StatusOr<std::string> ClaimFolder(const std::string& path,
                                        const std::string& new_id) {
  PACELINE_ASSIGN_OR_RETURN(const FileStore* files, FilesAt(path));
  PACELINE_RETURN_IF_ERROR(files->MakeFolder(path));
  const absl::StatusOr<std::string> found = ReadId(*files, path);
  if (!absl::IsNotFound(found.status())) return found;
  PACELINE_RETURN_IF_ERROR(
      files->WriteNew(IdFileOf(path), absl::StrCat(new_id, "\n")));
  // In a bucket another may have written it in the same moment.
  return ReadId(*files, path);
}

absl::Status CheckSharedFolder(const std::string& path, const std::string& id) {
  PACELINE_ASSIGN_OR_RETURN(const FileStore* files, FilesAt(path));
  const absl::StatusOr<std::string> found = ReadId(*files, path);
  const absl::string_view what_to_do =
      IsS3Uri(path) ? "AWS_ENDPOINT_URL must be the same on both"
                    : "mount it there";
  if (absl::IsNotFound(found.status())) {
    return absl::FailedPreconditionError(
        absl::StrCat("the coordinator's checkpoint folder ", path,
                     " is not seen here: ", what_to_do));
  }
  PACELINE_RETURN_IF_ERROR(found.status());
  if (*found == id) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the checkpoint folder ", path,
                   " is another one here than the coordinator's: ",
                   IsS3Uri(path) ? what_to_do : "mount the same there"));
}

absl::Status TryToWrite(const std::string& path) {
  PACELINE_ASSIGN_OR_RETURN(const FileStore* files, FilesAt(path));
  const std::string file =
      PathIn(path, absl::StrCat(".paceline-probe-", DrawName()));
  PACELINE_RETURN_IF_ERROR(files->WriteNew(file, "probe\n"));
  return files->Remove(file);
}

bool IsUsable(const absl::Status& folder) {
  return folder.ok() || absl::IsResourceExhausted(folder);
}

}  // namespace paceline
