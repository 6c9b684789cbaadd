#include "services/coordinator/control/checkpoint_folders.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/checkpoint/shared_folder.h"
#include "common/log/log.h"
#include "common/rng.h"

namespace paceline {
namespace {

void Look(const std::string& path, const std::string& new_id,
          FolderState& state) {
  const absl::StatusOr<std::string> id = ClaimFolder(path, new_id);
  state.status = id.status();
  if (!id.ok()) return;
  state.id = *id;
  state.status = TryToWrite(path);
}

}  // namespace

CheckpointFolders::CheckpointFolders(const std::vector<std::string>& roots,
                                     uint64_t entropy, const Clock* clock)
    : clock_(clock) {
  Rng ids(entropy);
  for (const std::string& root : roots) {
    const uint64_t high = ids.Next();
    const uint64_t low = ids.Next();
    watches_.push_back(std::make_unique<FolderWatch>(
        root,
        [root, new_id = absl::StrFormat("%016x%016x", high, low)](
            FolderState& state) { Look(root, new_id, state); },
        clock));
  }
}

std::vector<FolderState> CheckpointFolders::Get() const {
  std::vector<FolderState> folders;
  folders.reserve(watches_.size());
  for (const auto& watch : watches_) folders.push_back(watch->Get());
  return folders;
}

absl::Status CheckpointFolders::NeverUsable() const {
  if (watches_.empty()) return absl::OkStatus();
  const FolderState first = watches_.front()->Get();
  if (first.been_usable) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      "the checkpoint folder cannot be used: ", first.status.message()));
}

std::string CheckpointFolders::Troubles() const {
  std::string troubles;
  for (const FolderState& folder : Get()) {
    if (folder.status.ok()) continue;
    absl::StrAppend(&troubles, troubles.empty() ? "" : "\n",
                    "checkpoint folder ", folder.path, ": ",
                    folder.status.message());
    if (folder.looked_at == absl::InfinitePast()) continue;
    absl::StrAppend(&troubles, " (looked at ",
                    absl::FormatDuration(absl::Trunc(
                        clock_->Now() - folder.looked_at, absl::Seconds(1))),
                    " ago)");
  }
  return troubles;
}

v1::CheckpointFolders ToProto(const std::vector<FolderState>& folders) {
  v1::CheckpointFolders known;
  for (const FolderState& folder : folders) {
    if (folder.id.empty()) continue;
    v1::CheckpointFolder& is = *known.add_folders();
    is.set_path(folder.path);
    is.set_id(folder.id);
  }
  return known;
}

void LogChanges(const std::vector<FolderState>& before,
                const std::vector<FolderState>& now) {
  for (size_t i = 0; i < now.size(); ++i) {
    const FolderState& is = now[i];
    const FolderState was = i < before.size() ? before[i] : FolderState();
    if (!is.known || is.status == was.status) continue;
    // The first look tells what is wrong, not that all is well.
    if (is.status.ok() && !was.known) continue;
    if (is.status.ok()) {
      LogInfo("a checkpoint folder is well again", {{"folder", is.path}});
    } else {
      LogWarning(
          "a checkpoint folder is in trouble",
          {{"folder", is.path}, {"reason", std::string(is.status.message())}});
    }
  }
}

}  // namespace paceline
