#ifndef PACELINE_SERVICES_COORDINATOR_CONTROL_CHECKPOINT_FOLDERS_H_
#define PACELINE_SERVICES_COORDINATOR_CONTROL_CHECKPOINT_FOLDERS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/checkpoint/folder_watch.h"
#include "common/clock.h"
#include "protos/paceline/v1/fleet.pb.h"

namespace paceline {

// The folders in which the coordinator keeps checkpoints, looked at again and
// again beside all other work: made, named (shared_folder.h), and written to.
// Thread-safe; nothing blocks.
class CheckpointFolders {
 public:
  // The first is for all checkpoints, the others are for what cannot be saved
  // there. `entropy` as in JobsOptions; `clock` outlives this.
  CheckpointFolders(const std::vector<std::string>& roots, uint64_t entropy,
                    const Clock* clock = &Clock::Real());

  // In their order.
  std::vector<FolderState> Get() const;

  // Not OK as long as the first was never usable since the process began: it
  // may be that it will never be. Later troubles keep nobody away from a
  // coordinator, by which they can be mended.
  absl::Status NeverUsable() const;
  // What is wrong with any of them, one a line, and since when that is known.
  std::string Troubles() const;

 private:
  const Clock* const clock_;
  std::vector<std::unique_ptr<FolderWatch>> watches_;
};

// Those that have a name, for servers.
v1::CheckpointFolders ToProto(const std::vector<FolderState>& folders);

// What there is to say to people of what has become of them.
void LogChanges(const std::vector<FolderState>& before,
                const std::vector<FolderState>& now);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_CONTROL_CHECKPOINT_FOLDERS_H_
