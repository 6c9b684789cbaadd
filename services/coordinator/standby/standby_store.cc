#include "services/coordinator/standby/standby_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/plain_name.h"
#include "common/safetensors/durable_file.h"
#include "common/safetensors/input_file.h"
#include "common/status.h"
#include "common/unique_fd.h"
#include "services/coordinator/run/journal/journal_files.h"
#include "services/coordinator/store/store_change.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

// Of an SQLite database: itself, and what belongs to it.
constexpr const char* kBeside[] = {"", "-wal", "-shm"};

// What is in the file, or which files are in the folder, survives the machine.
absl::Status Sync(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.valid() && fsync(file.get()) == 0) return absl::OkStatus();
  return FileError(errno, absl::StrCat("sync ", path));
}

absl::Status Append(const std::string& path, absl::string_view bytes, bool anew,
                    bool durable) {
  const int flags =
      O_CREAT | O_WRONLY | O_CLOEXEC | (anew ? O_TRUNC : O_APPEND);
  const UniqueFd file(open(path.c_str(), flags, 0600));
  if (file.valid() && WriteAll(file.get(), bytes) &&
      (!durable || fdatasync(file.get()) == 0)) {
    return absl::OkStatus();
  }
  return FileError(errno, absl::StrCat("write ", path));
}

absl::Status Move(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) == 0 || errno == ENOENT) {
    return absl::OkStatus();
  }
  return FileError(errno, absl::StrCat("rename ", from));
}

}  // namespace

StandbyStore::StandbyStore(std::string path, std::string journals,
                           StoreOptions options,
                           std::function<absl::Status(uint64_t term)> completed)
    : path_(std::move(path)),
      journals_(std::move(journals)),
      options_(options),
      completed_(std::move(completed)) {}

std::string StandbyStore::Incoming(const std::string& path) const {
  return absl::StrCat(path, ".incoming");
}

std::string StandbyStore::StorePath() const {
  return complete_ ? path_ : Incoming(path_);
}

std::string StandbyStore::Journals() const {
  return complete_ ? journals_ : Incoming(journals_);
}

std::string StandbyStore::JournalPath(const std::string& uid) const {
  return JournalFile(Journals(), uid);
}

absl::Status StandbyStore::Begin(uint64_t term) {
  term_ = term;
  complete_ = false;
  store_.reset();
  std::error_code error;
  for (const char* const beside : kBeside) {
    fs::remove(absl::StrCat(Incoming(path_), beside), error);
  }
  fs::remove_all(Incoming(journals_), error);
  return MakeFolders(Incoming(journals_));
}

absl::Status StandbyStore::Take(const v1::LeaderMessage& message) {
  switch (message.kind_case()) {
    case v1::LeaderMessage::kFile:
      return TakeFile(message.file());
    case v1::LeaderMessage::kStore:
      return TakeStore(message.store());
    case v1::LeaderMessage::kJournal:
      return TakeJournal(message.journal());
    case v1::LeaderMessage::kFilled:
      return PutInPlace();
    default:
      return absl::OkStatus();
  }
}

absl::Status StandbyStore::TakeFile(const v1::FilePiece& piece) {
  if (complete_) {
    return absl::InvalidArgumentError("a file came behind `filled`");
  }
  if (!piece.job_uid().empty()) {
    PACELINE_RETURN_IF_ERROR(CheckPlainName("job_uid", piece.job_uid()));
    return Append(JournalPath(piece.job_uid()), piece.piece(), piece.first(),
                  /*durable=*/false);
  }
  PACELINE_RETURN_IF_ERROR(Append(StorePath(), piece.piece(), piece.first(),
                                  /*durable=*/false));
  if (!piece.last()) return absl::OkStatus();
  PACELINE_ASSIGN_OR_RETURN(store_, JobStore::Open(StorePath(), options_));
  return absl::OkStatus();
}

absl::Status StandbyStore::TakeJournal(const v1::JournalChange& change) {
  PACELINE_RETURN_IF_ERROR(CheckPlainName("job_uid", change.job_uid()));
  const std::string path = JournalPath(change.job_uid());
  if (change.has_records()) {
    return Append(path, change.records(), /*anew=*/false,
                  complete_ && options_.fsync);
  }
  if (change.begun()) return Append(path, "", /*anew=*/true, /*durable=*/false);
  unlink(path.c_str());
  return absl::OkStatus();
}

absl::Status StandbyStore::TakeStore(const v1::StoreChange& change) {
  if (store_ == nullptr) {
    return absl::InvalidArgumentError("a change came before the store");
  }
  return store_->Record(FromChange(change));
}

absl::Status StandbyStore::PutAside() {
  // The first one that was ever replaced stays: it may have been somebody's
  // jobs, and not the copy of a standby.
  const std::string aside = absl::StrCat(path_, ".replaced");
  std::error_code error;
  const bool keep = !fs::exists(aside, error);
  for (const char* const beside : kBeside) {
    const std::string old = absl::StrCat(path_, beside);
    if (keep) {
      PACELINE_RETURN_IF_ERROR(Move(old, absl::StrCat(aside, beside)));
    } else {
      fs::remove(old, error);
    }
  }
  return absl::OkStatus();
}

absl::Status StandbyStore::PutInPlace() {
  if (store_ == nullptr || complete_) {
    return absl::InvalidArgumentError("`filled` came without a store");
  }
  store_.reset();
  std::error_code error;
  // Closing it has put everything into the one file.
  if (fs::exists(absl::StrCat(Incoming(path_), "-wal"), error)) {
    return absl::InternalError(
        absl::StrCat(Incoming(path_), " could not be closed"));
  }
  PACELINE_RETURN_IF_ERROR(Sync(Incoming(path_)));
  for (const auto& entry : fs::directory_iterator(Incoming(journals_), error)) {
    PACELINE_RETURN_IF_ERROR(Sync(entry.path()));
  }
  fs::remove(absl::StrCat(Incoming(path_), ".lock"), error);
  PACELINE_RETURN_IF_ERROR(PutAside());
  PACELINE_RETURN_IF_ERROR(Move(Incoming(path_), path_));
  fs::remove_all(journals_, error);
  PACELINE_RETURN_IF_ERROR(Move(Incoming(journals_), journals_));
  PACELINE_RETURN_IF_ERROR(Sync(fs::absolute(path_).parent_path()));
  complete_ = true;
  PACELINE_ASSIGN_OR_RETURN(store_, JobStore::Open(path_, options_));
  return completed_(term_);
}

}  // namespace paceline
