#include "services/coordinator/fleet/seen_folders.h"

#include <utility>

#include "absl/status/status.h"
#include "common/checkpoint/shared_folder.h"
#include "common/utf8.h"

namespace paceline {
namespace {

// It is in jobs' reasons, and in every list of servers.
constexpr size_t kLongestMessage = 1000;

}  // namespace

const v1::CheckpointFolders& SeenFolders::Set(v1::CheckpointFolders folders) {
  folders.set_number(folders_.number() + 1);
  folders_ = std::move(folders);
  seen_.clear();
  return folders_;
}

bool SeenFolders::Seen(uint64_t server, const v1::FoldersSeen& seen) {
  if (seen.number() != folders_.number()) return false;
  v1::FoldersSeen& kept = seen_[server] = seen;
  kept.set_message(std::string(CutUtf8(seen.message(), kLongestMessage)));
  return true;
}

std::string SeenFolders::TroubleOf(uint64_t server,
                                   const v1::ServerHello& hello) const {
  const auto it = seen_.find(server);
  if (it != seen_.end()) return it->second.message();
  return IsFit(server, hello)
             ? ""
             : "it has not said yet whether it sees the checkpoint folder";
}

bool SeenFolders::IsFit(uint64_t server, const v1::ServerHello& hello) const {
  if (folders_.folders_size() == 0 || !hello.sees_folders()) return true;
  const auto it = seen_.find(server);
  return it != seen_.end() &&
         IsUsable(absl::Status(static_cast<absl::StatusCode>(it->second.code()),
                               it->second.message()));
}

}  // namespace paceline
