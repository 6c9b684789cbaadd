#ifndef PACELINE_SERVICES_COORDINATOR_CONTROL_FOLDER_TASK_H_
#define PACELINE_SERVICES_COORDINATOR_CONTROL_FOLDER_TASK_H_

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

// What is done with the files of a folder beside the book's lock, for their
// disk may hang: deleting or reading them. Thread-safe.
class FolderTask {
 public:
  // Has `work` called on that lane; what it uses it owns. What the lane refuses
  // has failed at once.
  static std::shared_ptr<FolderTask> Begin(FolderLanes& lanes,
                                           const std::string& lane,
                                           std::function<absl::Status()> work);
  // There was nothing to do.
  static std::shared_ptr<FolderTask> OfNothing();

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

#endif  // PACELINE_SERVICES_COORDINATOR_CONTROL_FOLDER_TASK_H_
