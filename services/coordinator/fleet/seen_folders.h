#ifndef PACELINE_SERVICES_COORDINATOR_FLEET_SEEN_FOLDERS_H_
#define PACELINE_SERVICES_COORDINATOR_FLEET_SEEN_FOLDERS_H_

#include <cstdint>
#include <map>
#include <string>

#include "protos/paceline/v1/fleet.pb.h"

namespace paceline {

// Which parameter servers see the coordinator's checkpoint folders, as they say
// themselves. Thread-compatible.
class SeenFolders {
 public:
  // From now on it is about these. They get a number, and nobody has seen them.
  const v1::CheckpointFolders& Set(v1::CheckpointFolders folders);
  const v1::CheckpointFolders& folders() const { return folders_; }

  void ServerGone(uint64_t server) { seen_.erase(server); }
  // False, and nothing changes, if that is about folders of before.
  bool Seen(uint64_t server, const v1::FoldersSeen& seen);

  // What is wrong with the folders as the server sees them; empty: nothing.
  std::string TroubleOf(uint64_t server, const v1::ServerHello& hello) const;
  // Whether it may get a new run: it sees the first folder, even if that is
  // full for now, or is of a release that cannot tell.
  bool IsFit(uint64_t server, const v1::ServerHello& hello) const;

 private:
  v1::CheckpointFolders folders_;
  std::map<uint64_t, v1::FoldersSeen> seen_;  // By server, of these folders.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_FLEET_SEEN_FOLDERS_H_
