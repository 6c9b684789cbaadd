#include "services/worker/data/byte_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"

namespace paceline {
namespace {

constexpr uint64_t kPiece = 1 << 20;

}  // namespace

absl::StatusOr<ByteFile> ByteFile::Open(const std::string& path) {
  errno = 0;
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) {
    return absl::ErrnoToStatus(errno == 0 ? ENOMEM : errno,
                               absl::StrCat("cannot open ", path));
  }
  gzbuffer(file, 256 << 10);
  return ByteFile(path, file);
}

absl::StatusOr<size_t> ByteFile::ReadSome(size_t count, uint8_t* to) {
  const int got = gzread(file_.get(), to, static_cast<unsigned>(count));
  int code = Z_OK;
  const char* text = gzerror(file_.get(), &code);
  if (code == Z_ERRNO) {
    return absl::DataLossError(
        absl::StrCat(path_, ": cannot be read: ", std::strerror(errno)));
  }
  // A gzip file that ends too early gives what it has and this error.
  if (got < 0 || code != Z_OK) {
    return absl::DataLossError(
        absl::StrCat(path_, ": damaged compression: ", text));
  }
  return static_cast<size_t>(got);
}

absl::Status ByteFile::Read(uint64_t count, std::vector<uint8_t>& to) {
  for (uint64_t left = count; left > 0;) {
    const size_t piece = std::min(left, kPiece);
    const size_t before = to.size();
    to.resize(before + piece);
    PACELINE_ASSIGN_OR_RETURN(const size_t got,
                              ReadSome(piece, to.data() + before));
    if (got < piece) {
      return absl::DataLossError(
          absl::StrCat(path_, ": truncated: ", left - got, " of ", count,
                       " bytes are missing"));
    }
    left -= piece;
  }
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> ByteFile::ReadBigEndian() {
  std::vector<uint8_t> bytes;
  PACELINE_RETURN_IF_ERROR(Read(4, bytes));
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 |
         uint32_t{bytes[2]} << 8 | uint32_t{bytes[3]};
}

absl::Status ByteFile::ExpectEnd() {
  uint8_t more = 0;
  PACELINE_ASSIGN_OR_RETURN(const size_t got, ReadSome(1, &more));
  if (got == 0) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(path_, ": longer than its contents should be"));
}

}  // namespace paceline
