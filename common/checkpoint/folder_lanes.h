#ifndef PACELINE_COMMON_CHECKPOINT_FOLDER_LANES_H_
#define PACELINE_COMMON_CHECKPOINT_FOLDER_LANES_H_

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace paceline {

// A thread for each folder in which files are written or deleted, as long as
// there is something to do there: so a disk or a mount that hangs holds up
// nobody but who needs that folder. Thread-safe.
class FolderLanes {
 public:
  // It may hang, also beyond the end of this: it must own what it uses.
  using Task = absl::AnyInvocable<void()>;

  FolderLanes() = default;
  // Waits for what is under way for a moment at most; what hangs then is left
  // behind, and what waits for it is dropped.
  ~FolderLanes();
  FolderLanes(const FolderLanes&) = delete;
  FolderLanes& operator=(const FolderLanes&) = delete;

  // Does it soon, in order, after what was put for that folder before.
  // RESOURCE_EXHAUSTED, without doing it, if too much waits there, or too many
  // other folders are in use.
  absl::Status Put(const std::string& folder, Task task);

 private:
  struct Shared {
    absl::Mutex mu;  // A leaf.
    // Those in use, with what waits for each.
    std::map<std::string, std::deque<Task>> lanes ABSL_GUARDED_BY(mu);
  };

  static void Work(const std::shared_ptr<Shared>& shared,
                   const std::string& folder);

  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

// The lane of a checkpoint in that folder: what lies below one root, as all
// checkpoints of all jobs do, is on one disk.
std::string LaneOf(const std::string& checkpoint_folder);

}  // namespace paceline

#endif  // PACELINE_COMMON_CHECKPOINT_FOLDER_LANES_H_
