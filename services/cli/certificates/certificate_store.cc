#include "services/cli/certificates/certificate_store.h"

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
#include "common/unique_fd.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kSecret = 0600;
constexpr mode_t kPublic = 0644;

absl::Status WriteNew(const std::string& path, const std::string& text,
                      mode_t mode) {
  const UniqueFd file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  // A name must not come to stand for half a file.
  if (!file.valid() || !WriteAll(file.get(), text) || fsync(file.get()) != 0) {
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
  Texts texts;
  for (const char* const what : {kCertificate, kKey, kAuthority}) {
    const auto text = ReadSmallFile(absl::StrCat(PlaceOf(name), "/", what));
    if (text.ok()) {
      texts[what] = *text;
    } else if (!absl::IsNotFound(text.status())) {
      return text.status();
    } else if (what == std::string(kCertificate)) {
      return text.status();  // What else there is was never finished.
    }
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
  // The key first: without the certificate it counts for nothing.
  for (auto it = texts.rbegin(); it != texts.rend(); ++it) {
    const auto& [what, text] = *it;
    const std::string path = absl::StrCat(PlaceOf(name), "/", what);
    const std::string beside = absl::StrCat(path, ".new");
    unlink(beside.c_str());  // An earlier process may have left it.
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
