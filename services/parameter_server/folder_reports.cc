#include "services/parameter_server/folder_reports.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_folder.h"
#include "common/checkpoint/shared_folder.h"
#include "common/log/log.h"
#include "common/status.h"

namespace paceline {
namespace {

// Each costs a thread.
constexpr size_t kMostFolders = 16;

absl::Status Look(const std::vector<std::string>& roots,
                  const std::string& path, const std::string& id) {
  PACELINE_ASSIGN_OR_RETURN(const std::string resolved,
                            ResolveWithinAny(roots, path));
  PACELINE_RETURN_IF_ERROR(CheckSharedFolder(resolved, id));
  return TryToWrite(resolved);
}

}  // namespace

void FolderReports::Watch(const v1::CheckpointFolders& folders) {
  {
    // Sent on two threads, they may come in another order.
    absl::MutexLock lock(&mu_);
    if (folders.number() < folders_.number() && folders.number() > 0) return;
  }
  std::vector<std::unique_ptr<FolderWatch>> watches;
  for (const v1::CheckpointFolder& folder : folders.folders()) {
    if (watches.size() == kMostFolders) break;
    watches.push_back(std::make_unique<FolderWatch>(
        folder.path(),
        [roots = roots_, path = folder.path(),
         id = folder.id()](FolderState& state) {
          state.id = id;
          state.status = Look(roots, path, id);
        },
        clock_));
  }
  absl::MutexLock lock(&mu_);
  folders_ = folders;
  watches_.swap(watches);  // Those of before end once the lock is free.
  told_.clear();
}

void FolderReports::Forget() { Watch({}); }

std::optional<v1::FoldersSeen> FolderReports::Seen() const {
  if (watches_.empty()) return std::nullopt;
  v1::FoldersSeen seen;
  seen.set_number(folders_.number());
  std::string message;
  for (size_t i = 0; i < watches_.size(); ++i) {
    const FolderState state = watches_[i]->Get();
    if (!state.known) return std::nullopt;
    if (state.status.ok()) continue;
    if (i == 0) seen.set_code(static_cast<int>(state.status.code()));
    absl::StrAppend(&message, message.empty() ? "" : "; ",
                    state.status.message());
  }
  seen.set_message(message);
  return seen;
}

std::optional<v1::FoldersSeen> FolderReports::Take() {
  absl::MutexLock lock(&mu_);
  std::optional<v1::FoldersSeen> seen = Seen();
  if (!seen.has_value()) return std::nullopt;
  std::string text = seen->SerializeAsString();
  // What is all well and has no number would be empty.
  absl::StrAppend(&text, ".");
  if (text == told_) return std::nullopt;
  told_ = std::move(text);
  if (seen->message().empty()) {
    LogInfo("sees the checkpoint folders");
  } else {
    LogWarning("a checkpoint folder is in trouble",
               {{"reason", seen->message()}});
  }
  return seen;
}

absl::Status FolderReports::status() const {
  absl::MutexLock lock(&mu_);
  if (watches_.empty()) return absl::OkStatus();
  return watches_.front()->Get().status;
}

}  // namespace paceline
