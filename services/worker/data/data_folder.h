#ifndef PACELINE_SERVICES_WORKER_DATA_DATA_FOLDER_H_
#define PACELINE_SERVICES_WORKER_DATA_DATA_FOLDER_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paceline {

// Which of a machine's folders jobs may read: who writes a job is somebody else
// than who owns the machine.
struct DataPlaces {
  // What a job names lies below it; empty: there is nothing for jobs to read.
  std::string root = ".";
  // Any folder may be named; a relative one lies below `root` all the same.
  bool anywhere = false;
};

// The folder that the DIR of a job's data means on this machine.
//
// INVALID_ARGUMENT, with the rule and the flag that changes it, for an absolute
// DIR, for one with "..", and for one whose symbolic links do not lead to a
// folder below the root. What is said of these does not depend on what there is
// outside. A folder that is merely not there is no error here.
absl::StatusOr<std::string> DataFolder(absl::string_view dir,
                                       const DataPlaces& places);

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_DATA_DATA_FOLDER_H_
