#include "services/worker/data/data_folder.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

absl::Status Refused(absl::string_view dir, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(
      "data folder \"", dir, "\" ", why, ": name one below this worker's ",
      "--data-root as it is seen from there, or its owner starts it with ",
      "--data-anywhere"));
}

// Both without symbolic links and "..".
bool IsBelow(const fs::path& path, const fs::path& root) {
  return std::mismatch(root.begin(), root.end(), path.begin(), path.end())
             .first == root.end();
}

// A link in it leads to what is not there, and so was left as it is.
bool HasDanglingLink(const fs::path& path) {
  fs::path so_far;
  for (const fs::path& part : path) {
    so_far /= part;
    std::error_code error;
    if (fs::is_symlink(fs::symlink_status(so_far, error))) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<std::string> DataFolder(absl::string_view dir,
                                       const DataPlaces& places) {
  const fs::path named{std::string(dir)};
  const fs::path folder = (fs::path(places.root) / named).lexically_normal();
  if (places.anywhere) return folder.string();
  if (places.root.empty()) {
    return absl::InvalidArgumentError(
        "this worker reads no files: its owner has to start it with "
        "--data-root, or a job of it needs data \"synthetic:...\"");
  }
  if (named.is_absolute()) return Refused(dir, "is an absolute path");
  if (std::find(named.begin(), named.end(), "..") != named.end()) {
    return Refused(dir, "has \"..\" in it");
  }
  std::error_code error;
  const fs::path root = fs::canonical(places.root, error);
  if (error) {
    return absl::NotFoundError(absl::StrCat(
        "this worker's --data-root ", places.root, ": ", error.message()));
  }
  // Whatever goes wrong on the way outside, nothing is told of it.
  const fs::path found = fs::weakly_canonical(root / named, error);
  if (error || !IsBelow(found, root) || HasDanglingLink(found)) {
    return Refused(dir, "does not lead to a folder below --data-root");
  }
  return folder.string();
}

}  // namespace paceline
