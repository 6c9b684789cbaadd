#ifndef PACELINE_SERVICES_PARAMETER_SERVER_FOLDER_REPORTS_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_FOLDER_REPORTS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "common/checkpoint/folder_watch.h"
#include "common/clock.h"
#include "protos/paceline/v1/fleet.pb.h"

namespace paceline {

// Whether this server sees the coordinator's checkpoint folders, and can write
// there: looked at again and again beside all other work, and told whenever it
// has changed. Thread-safe; nothing blocks.
class FolderReports {
 public:
  // Folders must lie below one of `roots`, if there are any. `clock` outlives
  // this.
  FolderReports(std::vector<std::string> roots, const Clock* clock)
      : roots_(std::move(roots)), clock_(clock) {}

  // These are the coordinator's, from now on.
  void Watch(const v1::CheckpointFolders& folders);
  // They are not known any more: another coordinator has others.
  void Forget();
  // What is to be told now, if anything.
  std::optional<v1::FoldersSeen> Take();
  // Of the first folder, where checkpoints go; OK as long as none is known.
  absl::Status status() const;

 private:
  // Nothing before every folder was looked at.
  std::optional<v1::FoldersSeen> Seen() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::vector<std::string> roots_;
  const Clock* const clock_;
  mutable absl::Mutex mu_;
  v1::CheckpointFolders folders_ ABSL_GUARDED_BY(mu_);
  std::vector<std::unique_ptr<FolderWatch>> watches_ ABSL_GUARDED_BY(mu_);
  std::string told_ ABSL_GUARDED_BY(mu_);  // Serialized; empty: nothing.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_FOLDER_REPORTS_H_
