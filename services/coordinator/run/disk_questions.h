#ifndef PACELINE_SERVICES_COORDINATOR_RUN_DISK_QUESTIONS_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_DISK_QUESTIONS_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "common/checkpoint/folder_lanes.h"
#include "services/coordinator/run/course/run_messages.h"

namespace paceline {

// What a run asks of the disks of checkpoints, on the lanes of their folders.
// The answer may come after the end of the run: then nobody hears it.
// Thread-safe.
class DiskQuestions {
 public:
  // Gives the input that is the answer, one with that error if it is not OK. It
  // owns what it uses.
  using Question = absl::AnyInvocable<RunInput(const absl::Status& refused)>;
  // Takes an answer.
  using Step = std::function<void(const RunInput& answer)>;

  DiskQuestions(std::shared_ptr<FolderLanes> lanes, Step step);
  ~DiskQuestions() { Close(); }
  DiskQuestions(const DiskQuestions&) = delete;
  DiskQuestions& operator=(const DiskQuestions&) = delete;

  // About the checkpoint in that folder.
  void Ask(const std::string& folder, Question question);

  // Once it returns no answer is being taken, nor will be.
  void Close();

 private:
  struct Asker {
    absl::Mutex mu;                 // Comes before that of the run.
    Step step ABSL_GUARDED_BY(mu);  // Null once it is closed.
  };

  const std::shared_ptr<FolderLanes> lanes_;
  const std::shared_ptr<Asker> asker_ = std::make_shared<Asker>();
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_DISK_QUESTIONS_H_
