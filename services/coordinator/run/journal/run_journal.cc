#include "services/coordinator/run/journal/run_journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/safetensors/input_file.h"
#include "common/status.h"

namespace paceline {
namespace {

// Before each record: its length and its checksum, little endian.
constexpr size_t kHeader = 8;
// Far more than any message may have.
constexpr uint32_t kMostBytes = uint32_t{1} << 30;
constexpr size_t kReadAtOnce = size_t{1} << 20;

void AppendWord(uint32_t word, std::string& to) {
  for (int shift = 0; shift < 32; shift += 8) {
    to.push_back(static_cast<char>(word >> shift & 0xff));
  }
}

uint32_t WordAt(const char* from) {
  uint32_t word = 0;
  for (int i = 3; i >= 0; --i) {
    word = word << 8 | static_cast<unsigned char>(from[i]);
  }
  return word;
}

uint32_t ChecksumOf(absl::string_view record) {
  return static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(record.data()),
            static_cast<uInt>(record.size())));
}

}  // namespace

void AppendRecord(const journal::RunEvent& event, std::string& to) {
  const size_t header = to.size();
  to.append(kHeader, '\0');
  event.AppendToString(&to);
  const absl::string_view record =
      absl::string_view(to).substr(header + kHeader);
  std::string words;
  AppendWord(static_cast<uint32_t>(record.size()), words);
  AppendWord(ChecksumOf(record), words);
  to.replace(header, kHeader, words);
}

absl::StatusOr<std::unique_ptr<RunJournal>> RunJournal::Create(
    const std::string& path) {
  UniqueFd fd(open(path.c_str(),
                   O_CREAT | O_TRUNC | O_WRONLY | O_APPEND | O_CLOEXEC, 0600));
  if (!fd.valid()) return FileError(errno, absl::StrCat("create ", path));
  return std::unique_ptr<RunJournal>(new RunJournal(path, std::move(fd)));
}

absl::StatusOr<std::unique_ptr<RunJournal>> RunJournal::GoOn(
    const std::string& path, int64_t bytes) {
  UniqueFd fd(open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!fd.valid() || ftruncate(fd.get(), bytes) != 0) {
    return FileError(errno, absl::StrCat("go on with ", path));
  }
  return std::unique_ptr<RunJournal>(new RunJournal(path, std::move(fd)));
}

std::unique_ptr<RunJournal> RunJournal::At(const std::string& path) {
  return absl::WrapUnique(new RunJournal(path, UniqueFd()));
}

absl::Status RunJournal::Write(absl::string_view records, bool fsync) {
  if (!fd_.valid()) return absl::OkStatus();
  const bool written = WriteAll(fd_.get(), records);
  if (written && (!fsync || fdatasync(fd_.get()) == 0)) return absl::OkStatus();
  const absl::Status error = FileError(errno, absl::StrCat("write ", path_));
  fd_.Reset();
  return error;
}

absl::Status RunJournal::AppendTo(StandbyFeed& feed, uint64_t following,
                                  const std::string& job_uid) const {
  if (!fd_.valid()) return absl::OkStatus();
  auto file = std::make_shared<const UniqueFd>(
      open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat found = {};
  if (!file->valid() || fstat(file->get(), &found) != 0) {
    return FileError(errno, absl::StrCat("read ", path_));
  }
  feed.AppendFile(following, job_uid, std::move(file), found.st_size);
  return absl::OkStatus();
}

bool RunJournal::Remove() {
  fd_.Reset();
  return unlink(path_.c_str()) == 0 || errno == ENOENT;
}

absl::StatusOr<RunJournalReader> RunJournalReader::Open(
    const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return FileError(errno, absl::StrCat("open ", path));
  return RunJournalReader(path, std::move(fd));
}

absl::StatusOr<bool> RunJournalReader::Fill(size_t bytes) {
  while (buffer_.size() - begin_ < bytes) {
    buffer_.erase(0, begin_);
    begin_ = 0;
    const size_t had = buffer_.size();
    buffer_.resize(had + kReadAtOnce);
    const ssize_t got = read(fd_.get(), buffer_.data() + had, kReadAtOnce);
    buffer_.resize(had + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && errno != EINTR) {
      return FileError(errno, absl::StrCat("read ", path_));
    }
    if (got == 0) return false;
  }
  return true;
}

absl::StatusOr<std::optional<journal::RunEvent>> RunJournalReader::Next() {
  PACELINE_ASSIGN_OR_RETURN(const bool has_header, Fill(kHeader));
  if (!has_header) return std::nullopt;
  const uint32_t size = WordAt(buffer_.data() + begin_);
  const uint32_t checksum = WordAt(buffer_.data() + begin_ + 4);
  if (size > kMostBytes) return std::nullopt;
  PACELINE_ASSIGN_OR_RETURN(const bool whole, Fill(kHeader + size));
  if (!whole) return std::nullopt;
  const absl::string_view record(buffer_.data() + begin_ + kHeader, size);
  journal::RunEvent event;
  if (ChecksumOf(record) != checksum ||
      !event.ParseFromArray(record.data(), static_cast<int>(size))) {
    return std::nullopt;
  }
  begin_ += kHeader + size;
  bytes_ += static_cast<int64_t>(kHeader + size);
  return event;
}

}  // namespace paceline
