#ifndef PACELINE_SERVICES_COORDINATOR_CONTROL_RUN_FILES_H_
#define PACELINE_SERVICES_COORDINATOR_CONTROL_RUN_FILES_H_

#include <cstdint>
#include <set>
#include <string>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "services/coordinator/run/journal/journal_files.h"

namespace paceline {

// Of one run, in the folder that records them.
inline std::string TraceFile(const std::string& folder, const std::string& job,
                             uint64_t run) {
  return absl::StrFormat("%s/%s-%04x.jsonl", folder,
                         absl::StrReplaceAll(job, {{"/", "_"}}), run & 0xffff);
}

// Removes what is in that folder of other jobs than these, by their uids: they
// went on without, or are gone.
void RemoveOtherJournals(const std::string& folder,
                         const std::set<std::string>& uids);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_CONTROL_RUN_FILES_H_
