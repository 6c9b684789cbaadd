#ifndef PACELINE_SERVICES_COORDINATOR_RUN_COURSE_RUN_MEMBERS_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_COURSE_RUN_MEMBERS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "services/coordinator/run/course/model.h"
#include "services/coordinator/sync/core/types.h"

namespace paceline {

// A worker or evaluator of a run.
struct RunMember {
  enum class State {
    kLoading,  // Reads its data and builds its model.
    kReady,    // Waits for the job to begin.
    kWorking,  // Was told to begin.
    kGone,     // Remembered while somebody may still speak of it.
  };

  std::string name;
  uint64_t incarnation = 0;
  bool evaluator = false;
  State state = State::kLoading;
  bool initialized = false;  // It has written the starting weights.
  absl::Time last_heard;
  WorkerModel model;  // While it is ready and the job has not begun.
  SampleWishes wishes;

  bool trainer() const { return !evaluator; }
};

// Who has come to take part in a run. Thread-compatible.
class RunMembers {
 public:
  using State = RunMember::State;

  // REQUIRES: `worker` never came before.
  void Add(WorkerId worker, RunMember member);

  // Null if it never came, is gone or is forgotten.
  RunMember* Find(WorkerId worker);
  const RunMember* Find(WorkerId worker) const;
  void Heard(WorkerId worker, absl::Time now);

  // It is gone, and its name is known until Forget().
  void Remove(WorkerId worker);
  // Nobody speaks of the member any more. Nothing happens if it is not gone.
  void Forget(WorkerId worker);

  // Of one that is gone, too; "#7" of one that is forgotten.
  std::string NameOf(WorkerId worker) const;
  uint64_t IncarnationOf(WorkerId worker) const;

  // Those who are not gone, by id.
  std::vector<WorkerId> Present() const;
  // Of these, the trainers, whatever their state; and those that are ready.
  size_t trainers() const;
  std::vector<WorkerId> ReadyTrainers() const;

 private:
  std::map<WorkerId, RunMember> members_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_COURSE_RUN_MEMBERS_H_
