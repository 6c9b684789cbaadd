#include "common/checkpoint/checkpoint_folder.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/checkpoint/file_store.h"
#include "common/checkpoint/manifest.h"
#include "common/object_store/s3_uri.h"
#include "common/safetensors/input_file.h"
#include "common/status.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

// Whether `name` is that of a server's file: "server-0-of-2.safetensors".
bool IsShardFile(absl::string_view name) {
  return absl::StartsWith(name, "server-") && absl::StrContains(name, "-of-") &&
         CheckFileName(name).ok();
}

// What a file is called while it is written, without what makes it unlike
// others: "manifest.json" of "manifest.json.tmp-7-0".
absl::string_view FinalName(absl::string_view name) {
  return name.substr(0, name.find(".tmp-"));
}

absl::Status NotWithin(const std::string& root, const std::string& path) {
  return absl::InvalidArgumentError(
      absl::StrCat("the folder ", path, " does not lie within ", root,
                   ", where checkpoints are kept"));
}

// A bucket has no links, and its paths no dots: they say where they lead.
absl::StatusOr<std::string> ResolveInBucket(const std::string& root,
                                            const std::string& path) {
  if (!IsS3Uri(root) || !IsS3Uri(path)) return NotWithin(root, path);
  PACELINE_ASSIGN_OR_RETURN(const S3Uri base, ParseS3Uri(root));
  PACELINE_ASSIGN_OR_RETURN(const S3Uri resolved, ParseS3Uri(path));
  const bool within =
      base.key.empty() || resolved.key == base.key ||
      absl::StartsWith(resolved.key, absl::StrCat(base.key, "/"));
  if (resolved.bucket != base.bucket || !within) return NotWithin(root, path);
  return FormatS3Uri(resolved);
}

}  // namespace

absl::Status RemoveCheckpoint(const std::string& folder) {
  std::set<std::string> names;
  if (const auto manifest = ReadManifest(folder); manifest.ok()) {
    for (const CheckpointFile& file : manifest->files) names.insert(file.name);
  }
  PACELINE_ASSIGN_OR_RETURN(const FileStore* files, FilesAt(folder));
  PACELINE_RETURN_IF_ERROR(files->EndUnfinished(folder));
  PACELINE_ASSIGN_OR_RETURN(const std::vector<std::string> found,
                            files->List(folder));
  std::vector<std::string> ours;
  std::string other;
  for (const std::string& name : found) {
    const std::string final_name(FinalName(name));
    if (name == kManifestName) continue;
    if (final_name == kManifestName || IsShardFile(final_name) ||
        names.contains(final_name)) {
      ours.push_back(name);
    } else {
      other = name;
    }
  }
  const auto remove = [&](absl::string_view name) {
    return files->Remove(PathIn(folder, name));
  };
  PACELINE_RETURN_IF_ERROR(remove(kManifestName));
  PACELINE_RETURN_IF_ERROR(files->Flush(folder));
  for (const std::string& name : ours) PACELINE_RETURN_IF_ERROR(remove(name));
  if (!other.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the folder ", folder, " stays: it holds \"", other,
                     "\", which is no part of a checkpoint"));
  }
  return files->RemoveFolder(folder);
}

absl::StatusOr<std::string> ResolveWithin(const std::string& root,
                                          const std::string& path) {
  if (IsS3Uri(root) || IsS3Uri(path)) return ResolveInBucket(root, path);
  std::error_code error;
  fs::path base = fs::weakly_canonical(root, error);
  if (!base.has_filename()) base = base.parent_path();
  if (error) return FileError(error.value(), absl::StrCat("find ", root));
  const fs::path resolved = fs::weakly_canonical(path, error);
  if (error) return FileError(error.value(), absl::StrCat("find ", path));
  const auto parted =
      std::mismatch(base.begin(), base.end(), resolved.begin(), resolved.end());
  if (fs::path(path).is_absolute() && parted.first == base.end()) {
    return resolved.string();
  }
  return NotWithin(root, path);
}

absl::StatusOr<std::string> ResolveWithinAny(
    const std::vector<std::string>& roots, const std::string& path) {
  if (roots.empty()) {
    if (IsS3Uri(path)) {
      PACELINE_ASSIGN_OR_RETURN(const S3Uri uri, ParseS3Uri(path));
      return FormatS3Uri(uri);
    }
    if (!path.empty() && path.front() == '/') return path;
    return absl::InvalidArgumentError(absl::StrCat(
        "a checkpoint's folder needs an absolute path or s3://BUCKET/PREFIX, "
        "not \"",
        path, "\""));
  }
  absl::Status why;
  for (const std::string& root : roots) {
    absl::StatusOr<std::string> resolved = ResolveWithin(root, path);
    if (resolved.ok()) return resolved;
    why.Update(resolved.status());
  }
  return why;
}

}  // namespace paceline
