#include "services/coordinator/store/store_files.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "common/unique_fd.h"

namespace paceline {
namespace {

constexpr char kRescued[] = ".rescued-";

bool SameFile(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

std::string Stamp(absl::Time now) {
  return absl::FormatTime("%Y%m%dT%H%M%SZ", now, absl::UTCTimeZone());
}

bool SameContents(const struct stat& a, const struct stat& b) {
  return a.st_size == b.st_size && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
         a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

absl::StatusOr<struct stat> Look(const std::string& path) {
  struct stat found = {};
  if (stat(path.c_str(), &found) == 0) return found;
  return absl::InternalError(
      absl::ErrnoToStatus(errno, absl::StrCat("cannot look at ", path))
          .message());
}

absl::Status CheckName(const std::string& path, const struct stat& before) {
  struct stat now = {};
  if (stat(path.c_str(), &now) != 0) {
    if (errno == ENOENT) {
      return absl::FailedPreconditionError(
          absl::StrCat(path, " was deleted or moved away while in use"));
    }
    return absl::FailedPreconditionError(
        absl::ErrnoToStatus(errno,
                            absl::StrCat(path, " cannot be looked at any more"))
            .message());
  }
  if (SameFile(now, before)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(path, " was replaced by another file while in use"));
}

}  // namespace

absl::StatusOr<StoreFiles> StoreFiles::Of(const std::string& path,
                                          const std::string& file) {
  PACELINE_ASSIGN_OR_RETURN(const struct stat main, Look(path));
  PACELINE_ASSIGN_OR_RETURN(const struct stat log, Look(file + "-wal"));
  return StoreFiles(path, file, main, log);
}

absl::Status StoreFiles::CheckNames() const {
  PACELINE_RETURN_IF_ERROR(CheckName(path_, main_));
  return CheckName(log_path_, log_);
}

bool StoreFiles::WrittenByAnother() const {
  const absl::StatusOr<struct stat> main = Look(path_);
  const absl::StatusOr<struct stat> log = Look(log_path_);
  return (main.ok() && !SameContents(*main, main_)) ||
         (log.ok() && !SameContents(*log, log_));
}

void StoreFiles::NoteWritten() {
  const absl::StatusOr<struct stat> now = Look(path_);
  if (now.ok() && SameFile(*now, main_)) main_ = *now;
}

void StoreFiles::NoteLogWritten(int64_t frames) {
  const absl::StatusOr<struct stat> now = Look(log_path_);
  if (!now.ok() || !SameFile(*now, log_)) return;
  log_ = *now;
  frames_ = frames;
  const std::optional<LogFrames> head = ReadLogFrames(log_path_, 0);
  salts_ = head.has_value() ? std::optional(head->salts) : std::nullopt;
}

absl::Status StoreFiles::CheckLog() const {
  const absl::StatusOr<struct stat> now = Look(log_path_);
  // Another program has taken all of it over into FILE.
  if (frames_ == 0 || (now.ok() && now->st_size == 0)) return absl::OkStatus();
  const std::optional<LogFrames> read = ReadLogFrames(log_path_, frames_);
  if (read.has_value() && (read->sound == frames_ || read->salts != salts_)) {
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat(log_path_, " has ",
                                          read.has_value() ? read->sound : 0,
                                          " sound pages of ", frames_));
}

absl::StatusOr<std::string> StoreFiles::MakeRescue(absl::Time now) const {
  const std::string rescue = absl::StrCat(path_, kRescued, Stamp(now));
  const mode_t mode = main_.st_mode & 0777;
  // Not more than its owner may first: the rest comes with fchmod(), which no
  // umask changes.
  const UniqueFd fd(open(rescue.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                         0600));
  if (!fd.valid() || fchmod(fd.get(), mode) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot make ", rescue));
  }
  return rescue;
}

bool StoreFiles::Empty() const {
  const absl::StatusOr<struct stat> now = Look(path_);
  return now.ok() && now->st_size == 0;
}

bool StoreFiles::LogIsOurs() const {
  const absl::StatusOr<struct stat> now = Look(log_path_);
  return now.ok() && SameFile(*now, log_);
}

void StoreFiles::RemoveLog() const {
  if (!LogIsOurs()) return;
  std::remove(log_path_.c_str());
  std::remove(index_path_.c_str());
}

void StoreFiles::PutLogAside(absl::Time now) const {
  if (!LogIsOurs()) return;
  const std::string aside =
      absl::StrCat(path_, ".damaged-", Stamp(now), "-wal");
  if (std::rename(log_path_.c_str(), aside.c_str()) != 0) return;
  std::remove(index_path_.c_str());
}

std::string StoreFiles::NewestRescue(const std::string& path) {
  const std::filesystem::path file(path);
  const std::string prefix = file.filename().string() + kRescued;
  const std::filesystem::path folder =
      file.has_parent_path() ? file.parent_path() : ".";
  std::error_code error;
  std::string newest;
  for (std::filesystem::directory_iterator it(folder, error), end;
       !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!absl::StartsWith(name, prefix)) continue;
    // Those of SQLite beside it.
    if (absl::EndsWith(name, "-wal") || absl::EndsWith(name, "-shm")) continue;
    newest = std::max(newest, it->path().string());
  }
  return newest;
}

}  // namespace paceline
