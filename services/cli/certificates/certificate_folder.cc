#include "services/cli/certificates/certificate_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/security/small_file.h"
#include "common/status.h"
#include "services/cli/unique_fd.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kSecret = 0600;
constexpr mode_t kPublic = 0644;

absl::Status WriteNew(const std::string& path, const std::string& text,
                      mode_t mode) {
  const UniqueFd file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  bool written = file.get() >= 0;
  for (size_t done = 0; written && done < text.size();) {
    const ssize_t step = write(file.get(), &text[done], text.size() - done);
    written = step > 0 || (step < 0 && errno == EINTR);
    if (step > 0) done += step;
  }
  if (!written) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  }
  return absl::OkStatus();
}

}  // namespace

CertificateFolder::CertificateFolder(std::string path)
    : path_(std::move(path)) {}

std::string CertificateFolder::PlaceOf(const std::string& name) const {
  return absl::StrCat(path_, "/", name);
}

absl::StatusOr<CertificateStore::Texts> CertificateFolder::Get(
    const std::string& name) {
  std::error_code error;
  if (!fs::exists(PlaceOf(name), error) && !error) {
    return absl::NotFoundError(absl::StrCat(PlaceOf(name), " does not exist"));
  }
  Texts texts;
  for (fs::directory_iterator it(PlaceOf(name), error), end;
       !error && it != end; it.increment(error)) {
    PACELINE_ASSIGN_OR_RETURN(texts[it->path().filename().string()],
                              ReadSmallFile(it->path().string()));
  }
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("cannot read ", PlaceOf(name), ": ", error.message()));
  }
  return texts;
}

absl::Status CertificateFolder::Put(const std::string& name,
                                    const Texts& texts) {
  std::error_code error;
  fs::create_directories(PlaceOf(name), error);
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("cannot make ", PlaceOf(name), ": ", error.message()));
  }
  for (const auto& [what, text] : texts) {
    const std::string path = absl::StrCat(PlaceOf(name), "/", what);
    const std::string beside = absl::StrCat(path, ".new");
    unlink(beside.c_str());  // Of an earlier life.
    PACELINE_RETURN_IF_ERROR(WriteNew(
        beside, text, absl::EndsWith(what, ".key") ? kSecret : kPublic));
    fs::rename(beside, path, error);
    if (error) {
      return absl::UnavailableError(
          absl::StrCat("cannot write ", path, ": ", error.message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace paceline
