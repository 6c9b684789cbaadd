#ifndef PACELINE_SERVICES_COORDINATOR_RUN_JOURNAL_RUN_JOURNAL_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_JOURNAL_RUN_JOURNAL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/unique_fd.h"
#include "protos/paceline/journal/run_event.pb.h"
#include "services/coordinator/feed/standby_feed.h"

namespace paceline {

// The journal of a run is a file of records, each a length, a checksum and a
// RunEvent. A record that a crash cut off is the last one, and is left out.

// Appends the event as a record.
void AppendRecord(const journal::RunEvent& event, std::string& to);

// Writes a journal. Thread-compatible.
class RunJournal {
 public:
  // A new file, in place of one that is there. Errors as FileError().
  static absl::StatusOr<std::unique_ptr<RunJournal>> Create(
      const std::string& path);
  // Goes on with one after its first `bytes`; what is behind them is cut off.
  static absl::StatusOr<std::unique_ptr<RunJournal>> GoOn(
      const std::string& path, int64_t bytes);

  // One that was not made: only to remove what is at its place.
  static std::unique_ptr<RunJournal> At(const std::string& path);

  // Hands whole records to the operating system, so that they survive the
  // process; with `fsync` to the disk, so that they survive the machine. After
  // an error the file is worth nothing, and nothing more is written: it is to
  // be removed.
  absl::Status Write(absl::string_view records, bool fsync = false);
  // What is written so far goes to the standby, as the journal of that job.
  absl::Status AppendTo(StandbyFeed& feed, uint64_t following,
                        const std::string& job_uid) const;
  // Nobody is to go on with the run. False: the file is still there, as on a
  // disk that has become read-only.
  bool Remove();

 private:
  RunJournal(std::string path, UniqueFd fd)
      : path_(std::move(path)), fd_(std::move(fd)) {}

  const std::string path_;
  UniqueFd fd_;  // None once it is worth nothing.
};

// Reads one from its beginning. Thread-compatible.
class RunJournalReader {
 public:
  // Errors as FileError().
  static absl::StatusOr<RunJournalReader> Open(const std::string& path);

  // The next record; nothing at the end, and from the first on that is not
  // whole. The errors are those of reading.
  absl::StatusOr<std::optional<journal::RunEvent>> Next();
  // Of the file, the records that were read.
  int64_t bytes() const { return bytes_; }

 private:
  RunJournalReader(std::string path, UniqueFd fd)
      : path_(std::move(path)), fd_(std::move(fd)) {}
  // Has so many bytes from `begin_` on in the buffer; false at the file's end.
  absl::StatusOr<bool> Fill(size_t bytes);

  std::string path_;
  UniqueFd fd_;
  std::string buffer_;
  size_t begin_ = 0;  // Of what was not read of the buffer.
  int64_t bytes_ = 0;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_JOURNAL_RUN_JOURNAL_H_
