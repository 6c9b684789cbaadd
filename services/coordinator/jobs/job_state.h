#ifndef PACELINE_SERVICES_COORDINATOR_JOBS_JOB_STATE_H_
#define PACELINE_SERVICES_COORDINATOR_JOBS_JOB_STATE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "protos/paceline/v1/jobs.pb.h"

namespace paceline {

// What happens to a job: asked for by callers first, then what the coordinator
// itself sees. A job is created PENDING.
enum class JobEvent : uint8_t {
  kPause,
  kResume,
  kCancel,
  kRestore,
  kDelete,  // The state stays: the job goes.
  kSwitch,  // The state stays, as of the next two.
  kUpdate,
  kCheckpoint,
  kAssigned,     // It has got its workers.
  kInterrupted,  // Its run has ended before its time; what it has is saved.
  kStarted,      // All are ready, and the servers too.
  kFinished,     // A stop condition holds, all is counted.
  kFailed,
  kSavingFails,  // Or takes long: what it has trained is still to be saved.
  kSaved,        // In the end.
  kLeftUnsaved,  // Who held its weights was told to stop, and has gone.
  kRestarted,    // The coordinator has: nobody works for the job any more.
};

// "pause", "resume", ...; what callers ask for is as in "cannot pause".
absl::string_view JobEventName(JobEvent event);

// The state after `event`, which may be the same. FAILED_PRECONDITION
// (WRONG_STATE, of `resource`) if it cannot happen in `state`: the text says in
// which states it can and what can be done in this one.
//
//     PENDING -> STARTING -> RUNNING -> SUCCEEDED | FAILED
//     RUNNING -> SAVING -> RUNNING, while its weights cannot be saved
//     STARTING, RUNNING, SAVING -> PENDING, interrupted
//     PENDING, STARTING, RUNNING -> (PAUSING ->) PAUSED -> PENDING
//     PAUSING -> RUNNING, resumed
//     any that has not ended -> (CANCELLING ->) CANCELLED
//     PAUSED or ended -> PENDING, restored
absl::StatusOr<v1::Job::State> NextState(v1::Job::State state, JobEvent event,
                                         absl::string_view resource);

// SUCCEEDED, FAILED or CANCELLED.
bool HasEnded(v1::Job::State state);

// "RUNNING", also of a number that is no state: "17".
std::string StateName(v1::Job::State state);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_JOBS_JOB_STATE_H_
