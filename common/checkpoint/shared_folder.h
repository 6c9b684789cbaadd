#ifndef PACELINE_COMMON_CHECKPOINT_SHARED_FOLDER_H_
#define PACELINE_COMMON_CHECKPOINT_SHARED_FOLDER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paceline {

// A folder that several machines share says which one it is: it holds a file
// with an id that was drawn at random, and that stays. So each of them can tell
// whether it sees the folder of the others, or an empty one of its own where a
// mount is missing. These functions take as long as the disk takes.

inline constexpr absl::string_view kFolderIdFile = ".paceline-folder";

// For whom the folder belongs to: makes it where it is missing, gives it
// `new_id` unless it has an id, and returns the one that it has. DATA_LOSS if
// the file holds none; otherwise as FileError().
absl::StatusOr<std::string> ClaimFolder(const std::string& path,
                                        const std::string& new_id);

// For the others. FAILED_PRECONDITION: `path` is missing here, or is another
// folder than the one with that id.
absl::Status CheckSharedFolder(const std::string& path, const std::string& id);

// Writes a small file, flushes it to the disk and deletes it. As FileError(): a
// full disk is RESOURCE_EXHAUSTED.
absl::Status TryToWrite(const std::string& path);

// Whether what is said of a folder keeps nobody from beginning to work with it:
// a disk that is full today need not be when something is saved.
bool IsUsable(const absl::Status& folder);

}  // namespace paceline

#endif  // PACELINE_COMMON_CHECKPOINT_SHARED_FOLDER_H_
