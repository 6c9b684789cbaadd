#ifndef PACELINE_SERVICES_COORDINATOR_CONTROL_STATE_REASON_H_
#define PACELINE_SERVICES_COORDINATOR_CONTROL_STATE_REASON_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "protos/paceline/v1/jobs.pb.h"
#include "services/coordinator/jobs/job_state.h"
#include "services/coordinator/run/course/run_messages.h"

namespace paceline {

// What the end of its run means for a job.
JobEvent EndOf(const RunOutcome& outcome);

// Why a job is in its state, for people: Job.state_reason.

// Its run has brought about the state that it has now. `interrupted` as in
// JobEntry; `checkpoints` are the job's, newest first, null if they are not
// known for now: whoever has to begin again is told from where.
std::string ReasonAfter(const RunOutcome& outcome, const v1::Job& job,
                        const std::string& interrupted,
                        const std::vector<v1::Checkpoint>* checkpoints);

// What it has trained is not saved, and what can be done about that.
// `interrupted` as in JobEntry.
std::string UnsavedReason(const SavingDelayed& delayed,
                          const std::string& interrupted);

// It is PAUSED for that reason, and this is what resuming it comes to.
std::string PausedReason(absl::string_view why, const v1::Job& job);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_CONTROL_STATE_REASON_H_
