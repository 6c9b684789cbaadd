#include "services/worker/program/private_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/memory/memory.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace paceline {
namespace {

// Releases that knew no locks called theirs paceline-program-: those are left
// alone, for one that is in use could not be told from one that is not.
constexpr absl::string_view kPrefix = "paceline-socket-";

// Of making a folder that nobody takes for an abandoned one. That it happens
// once is rare.
constexpr int kTries = 100;

std::filesystem::path Parent() {
  std::error_code error;
  std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  return error ? "/tmp" : parent;
}

// Not valid of what is no folder of this user's.
UniqueFd OpenOwn(const std::string& path) {
  UniqueFd folder(
      open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat found = {};
  if (folder.valid() &&
      (fstat(folder.get(), &found) != 0 || found.st_uid != geteuid())) {
    folder.Reset();
  }
  return folder;
}

// Whether the path still leads there.
bool IsAt(const UniqueFd& folder, const std::string& path) {
  struct stat opened = {};
  struct stat found = {};
  return fstat(folder.get(), &opened) == 0 &&
         lstat(path.c_str(), &found) == 0 && opened.st_dev == found.st_dev &&
         opened.st_ino == found.st_ino;
}

// Where a file system knows no locks, nobody gets one, and folders stay.
void RemoveAbandoned(const std::filesystem::path& parent) {
  std::error_code error;
  std::filesystem::directory_iterator entry(parent, error);
  while (!error && entry != std::filesystem::directory_iterator()) {
    const std::string path = entry->path().string();
    if (absl::StartsWith(entry->path().filename().string(), kPrefix)) {
      const UniqueFd folder = OpenOwn(path);
      if (folder.valid() && flock(folder.get(), LOCK_EX | LOCK_NB) == 0) {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
      }
    }
    entry.increment(error);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<PrivateFolder>> PrivateFolder::Make() {
  const std::filesystem::path parent = Parent();
  RemoveAbandoned(parent);
  for (int tried = 0;; ++tried) {
    std::string path = (parent / absl::StrCat(kPrefix, "XXXXXX")).string();
    if (mkdtemp(path.data()) == nullptr) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot make ", path));
    }
    UniqueFd folder = OpenOwn(path);
    // Until it has its lock, another process may take it for abandoned.
    const bool taken =
        !folder.valid() ||
        (flock(folder.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) ||
        !IsAt(folder, path);
    if (!taken) {
      return absl::WrapUnique(
          new PrivateFolder(std::move(path), std::move(folder)));
    }
    if (tried == kTries) {
      return absl::UnavailableError(
          absl::StrCat("cannot make ", path, ": it is removed at once"));
    }
  }
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace paceline
