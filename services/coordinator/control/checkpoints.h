#ifndef PACELINE_SERVICES_COORDINATOR_CONTROL_CHECKPOINTS_H_
#define PACELINE_SERVICES_COORDINATOR_CONTROL_CHECKPOINTS_H_

#include <google/protobuf/timestamp.pb.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/coordinator/control/job_book.h"
#include "services/coordinator/jobs/resource_name.h"
#include "services/coordinator/store/job_store.h"

namespace paceline {

// The checkpoints of jobs: those in the store are known, those on disk are
// whole. It has no lock of its own: whoever calls it with an entry holds the
// book's.
class Checkpoints {
 public:
  // Below `root` each job has a folder; empty: no checkpoints are kept. Below
  // each of `fallbacks` it has another, for what cannot be saved there. The
  // pointers outlive it.
  Checkpoints(std::string root, std::vector<std::string> fallbacks,
              JobStore* store, JobBook* book)
      : root_(std::move(root)),
        fallbacks_(std::move(fallbacks)),
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
  // The name of the newest that is READY. FAILED_PRECONDITION if there is none.
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
  // Removes those that are more than the job keeps.
  void Prune(JobEntry& entry);
  // Removes files and record, in steps that can be taken again.
  absl::Status Remove(JobEntry& entry, v1::Checkpoint checkpoint);
  // Removes all of the job's, and its folders.
  absl::Status RemoveAll(JobEntry& entry);
  // After a restart: none is being written any more. The name of the newest
  // that was found whole only now, if any.
  absl::StatusOr<std::string> Settle(const JobEntry& entry);

 private:
  const std::string root_;
  const std::vector<std::string> fallbacks_;
  JobStore* const store_;
  JobBook* const book_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_CONTROL_CHECKPOINTS_H_
