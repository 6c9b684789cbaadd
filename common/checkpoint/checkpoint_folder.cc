#include "common/checkpoint/checkpoint_folder.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/checkpoint/manifest.h"
#include "common/safetensors/durable_file.h"
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

absl::Status Remove(const fs::path& path) {
  std::error_code error;
  fs::remove(path, error);
  if (!error) return absl::OkStatus();
  return FileError(error.value(), absl::StrCat("delete ", path.string()));
}

}  // namespace

absl::Status RemoveCheckpoint(const std::string& folder) {
  std::set<std::string> names;
  if (const auto manifest = ReadManifest(folder); manifest.ok()) {
    for (const CheckpointFile& file : manifest->files) names.insert(file.name);
  }
  std::error_code error;
  std::vector<fs::path> ours;
  std::string other;
  for (fs::directory_iterator entry(folder, error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const std::string final_name(FinalName(name));
    if (name == kManifestName) continue;
    if (final_name == kManifestName || IsShardFile(final_name) ||
        names.contains(final_name)) {
      ours.push_back(entry->path());
    } else {
      other = name;
    }
  }
  if (error) return FileError(error.value(), absl::StrCat("read ", folder));
  PACELINE_RETURN_IF_ERROR(Remove(fs::path(folder) / kManifestName.data()));
  PACELINE_RETURN_IF_ERROR(FlushFolder(folder));
  for (const fs::path& path : ours) PACELINE_RETURN_IF_ERROR(Remove(path));
  if (!other.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the folder ", folder, " stays: it holds \"", other,
                     "\", which is no part of a checkpoint"));
  }
  fs::remove(folder, error);
  if (error == std::errc::directory_not_empty) {
    return absl::UnavailableError(absl::StrCat(
        "a server still writes to ", folder, ": try again in a moment"));
  }
  if (!error) return absl::OkStatus();
  return FileError(error.value(), absl::StrCat("delete ", folder));
}

absl::StatusOr<std::string> ResolveWithin(const std::string& root,
                                          const std::string& path) {
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
  return absl::InvalidArgumentError(
      absl::StrCat("the folder ", path, " does not lie within ", root,
                   ", where checkpoints are kept"));
}

absl::StatusOr<std::string> ResolveWithinAny(
    const std::vector<std::string>& roots, const std::string& path) {
  if (roots.empty()) {
    if (!path.empty() && path.front() == '/') return path;
    return absl::InvalidArgumentError(absl::StrCat(
        "a checkpoint's folder needs an absolute path, not \"", path, "\""));
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
