#ifndef PACELINE_SERVICES_COORDINATOR_STORE_STORE_FILES_H_
#define PACELINE_SERVICES_COORDINATOR_STORE_STORE_FILES_H_

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/coordinator/store/log_frames.h"

namespace paceline {

// The files of a store that is open (FILE and FILE-wal), as they were when this
// was made. An open file lives on when its name is taken away or given to
// another, and SQLite goes on writing into it: so their names are looked at.
// A look costs a few calls of stat(), and reads nothing. Thread-compatible.
class StoreFiles {
 public:
  // `file` is what SQLite calls the file, whose other files lie beside it:
  // `path` may be a symbolic link to it. INTERNAL, with the reason, if one
  // cannot be looked at.
  static absl::StatusOr<StoreFiles> Of(const std::string& path,
                                       const std::string& file);

  const std::string& path() const { return path_; }

  // FAILED_PRECONDITION, with what has happened, if one of the names does not
  // lead to the file that was there: it was deleted, moved, or replaced.
  absl::Status CheckNames() const;

  // Whether FILE or FILE-wal is other than when this was made, or since we have
  // written it. SQLite writes FILE at its checkpoints alone, all else goes to
  // FILE-wal. False too if one cannot be looked at: CheckNames() says so.
  bool WrittenByAnother() const;
  // FILE was written by ourselves a moment ago.
  void NoteWritten();
  // FILE-wal was, and holds so many frames now.
  void NoteLogWritten(int64_t frames);
  // DATA_LOSS if a restart would not read all of these frames any more, though
  // the log has not begun anew.
  absl::Status CheckLog() const;

  // A new and empty file beside FILE, "FILE.rescued-20261231T235959Z", that
  // nobody else may read who may not read FILE. Its path. ALREADY_EXISTS, or
  // what the system says.
  absl::StatusOr<std::string> MakeRescue(absl::Time now) const;

  // Whether FILE has no byte.
  bool Empty() const;

  // Takes FILE-wal and FILE-shm away, if they are still those that were there:
  // they belong to no file any more that gets the name FILE.
  void RemoveLog() const;
  // The same, but FILE-wal is kept as "FILE.damaged-20261231T235959Z-wal", so
  // that a copy of FILE of that name is read together with it.
  void PutLogAside(absl::Time now) const;

  // Of the files that MakeRescue() has made for a store at `path`, the last by
  // name; "" if there is none.
  static std::string NewestRescue(const std::string& path);

 private:
  StoreFiles(std::string path, const std::string& file, const struct stat& main,
             const struct stat& log)
      : path_(std::move(path)),
        log_path_(file + "-wal"),
        index_path_(file + "-shm"),
        main_(main),
        log_(log) {}

  bool LogIsOurs() const;

  std::string path_;
  std::string log_path_;
  std::string index_path_;
  struct stat main_;
  struct stat log_;
  int64_t frames_ = 0;             // Known to be in the log,
  std::optional<LogSalts> salts_;  // which has these.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_STORE_STORE_FILES_H_
