#ifndef PACELINE_SERVICES_COORDINATOR_CONTROL_FILE_REMOVAL_H_
#define PACELINE_SERVICES_COORDINATOR_CONTROL_FILE_REMOVAL_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/checkpoint/folder_lanes.h"

namespace paceline {

// Files that are being deleted beside the book's lock, for their disk may hang.
// Thread-safe.
class FileRemoval {
 public:
  // Has `remove` called on that lane; what it uses it owns. What the lane
  // refuses has failed at once.
  static std::shared_ptr<FileRemoval> Begin(
      FolderLanes& lanes, const std::string& lane,
      std::function<absl::Status()> remove);
  // There was nothing to delete.
  static std::shared_ptr<FileRemoval> OfNothing();

  // How it has ended; nothing as long as it has not.
  std::optional<absl::Status> outcome() const;
  // The same, once it has ended or `deadline` has passed.
  std::optional<absl::Status> Await(absl::Time deadline) const;

 private:
  void End(const absl::Status& outcome);

  mutable absl::Mutex mu_;  // A leaf.
  std::optional<absl::Status> outcome_ ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_CONTROL_FILE_REMOVAL_H_
