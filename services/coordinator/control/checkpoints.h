#ifndef PACELINE_SERVICES_COORDINATOR_CONTROL_CHECKPOINTS_H_
#define PACELINE_SERVICES_COORDINATOR_CONTROL_CHECKPOINTS_H_

#include <google/protobuf/timestamp.pb.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/checkpoint/folder_lanes.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/coordinator/control/folder_task.h"
#include "services/coordinator/control/job_book.h"
#include "services/coordinator/jobs/resource_name.h"
#include "services/coordinator/store/job_store.h"

namespace paceline {

// Its weights have diverged: no job goes on from it unless somebody names it.
bool HasDiverged(const v1::Checkpoint& checkpoint);

// The checkpoints of jobs: those in the store are known, those on disk are
// whole. It has no lock of its own: whoever calls it holds the book's. Files
// are deleted beside that: a disk that hangs holds up no call but those that
// delete.
class Checkpoints {
 public:
  // Below `root` each job has a folder; empty: no checkpoints are kept. Below
  // each of `fallbacks` it has another, for what cannot be saved there. Files
  // are deleted on `lanes`. The pointers outlive it.
  Checkpoints(std::string root, std::vector<std::string> fallbacks,
              std::shared_ptr<FolderLanes> lanes, JobStore* store,
              JobBook* book)
      : root_(std::move(root)),
        fallbacks_(std::move(fallbacks)),
        lanes_(std::move(lanes)),
        store_(store),
        book_(book) {}

  bool kept() const { return !root_.empty(); }
  // The job's folder; empty if none are kept.
  std::string FolderOf(const v1::Job& job) const;
  // That below another root.
  static std::string FolderBelow(absl::string_view root, const v1::Job& job);
  // Those below the fallbacks.
  std::vector<std::string> FallbacksOf(const v1::Job& job) const;

  // Newest first, as they are by now, be that stored or not.
  absl::StatusOr<std::vector<v1::Checkpoint>> List(const JobEntry& entry) const;
  // One of that job's. NOT_FOUND.
  absl::StatusOr<v1::Checkpoint> Find(const JobEntry& entry,
                                      const CheckpointName& name) const;
  // The name of the newest that is READY and has not diverged.
  // FAILED_PRECONDITION if there is none.
  absl::StatusOr<std::string> Newest(const JobEntry& entry) const;

  // When one that begins now was made, for `create_time`: later than all before
  // it, so that their order is the one they were made in, whatever somebody
  // does to the machine's clock.
  google::protobuf::Timestamp NextTime(const JobEntry& entry) const;

  // Has the job's run write one, in a folder that somebody has named unless
  // `folder` is empty. It is stored before the run begins it: so
  // whoever asks again, even after a refusal on the way, gets this one. A
  // refusal by the run undoes it.
  absl::Status Begin(JobEntry& entry, const CheckpointName& name,
                     const v1::Checkpoint& checkpoint,
                     const std::string& folder, const Asked& asked);
  // What the run has told of a checkpoint, whose `name` is the id alone: the
  // checkpoint as callers see it. It is unsaved.
  v1::Checkpoint Note(JobEntry& entry, v1::Checkpoint checkpoint);
  // FAILED_PRECONDITION for one that is being written, or whose name and folder
  // the next attempt to save the job may take, or that the job needs.
  static absl::Status CheckRemovable(const JobEntry& entry,
                                     const v1::Checkpoint& checkpoint);
  // Begins to remove those that are more than the job keeps.
  void Prune(JobEntry& entry);
  // Begins to remove files and then the record, in steps that can be taken
  // again: it is READY no more. One that is being removed already is not begun
  // anew.
  absl::StatusOr<std::shared_ptr<FolderTask>> BeginRemoval(
      JobEntry& entry, v1::Checkpoint checkpoint);
  // The same of all of the job's, and of its folders.
  absl::StatusOr<std::vector<std::shared_ptr<FolderTask>>> BeginRemovalOfAll(
      JobEntry& entry);
  // Begins to read the part of a file that is asked for, of one that is READY.
  // `part` has it once the task has ended well. FAILED_PRECONDITION: it is not
  // READY, or was made elsewhere. UNAVAILABLE: others wait for a disk already,
  // and all who wait would leave nobody to answer other calls.
  struct Reading {
    std::shared_ptr<FolderTask> task;
    std::shared_ptr<v1::ReadCheckpointResponse> part;
  };
  absl::StatusOr<Reading> BeginReading(const v1::Checkpoint& checkpoint,
                                       const v1::ReadCheckpointRequest& wanted);
  // Removes the records of those whose files are gone.
  void TakeRemoved();
  // After a restart: none is being written any more, but the one of that name.
  // The name of the newest that was found whole only now and has not diverged,
  // if any. Folders are waited for until `deadline`; what is in one that does
  // not answer is left.
  absl::StatusOr<std::string> Settle(const JobEntry& entry, absl::Time deadline,
                                     absl::string_view but = "");

 private:
  // What is there of one that was not finished; its record stays.
  void RemoveUnfinished(const std::string& directory);

  const std::string root_;
  const std::vector<std::string> fallbacks_;
  const std::shared_ptr<FolderLanes> lanes_;
  JobStore* const store_;
  JobBook* const book_;
  // What is being removed, by the checkpoint's name.
  std::map<std::string, std::shared_ptr<FolderTask>> removing_;
  // What is being read; some of it has been.
  std::vector<std::weak_ptr<FolderTask>> reading_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_CONTROL_CHECKPOINTS_H_
