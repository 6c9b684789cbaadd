#ifndef PACELINE_SERVICES_COORDINATOR_RUN_JOURNAL_JOURNAL_FILES_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_JOURNAL_JOURNAL_FILES_H_

#include <string>

#include "absl/strings/str_cat.h"

namespace paceline {

// Where the journals of a store's runs are; empty if it keeps nothing.
inline std::string JournalFolder(const std::string& store) {
  return store == ":memory:" ? "" : absl::StrCat(store, ".runs");
}

// Of the run that a job has; empty if there is no folder for them.
inline std::string JournalFile(const std::string& folder,
                               const std::string& uid) {
  return folder.empty() ? "" : absl::StrCat(folder, "/", uid, ".journal");
}

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_JOURNAL_JOURNAL_FILES_H_
