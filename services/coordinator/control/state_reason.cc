#include "services/coordinator/control/state_reason.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "services/coordinator/control/checkpoints.h"

namespace paceline {
namespace {

// The newest that is READY and has not diverged, but not that one; null if
// there is none.
const v1::Checkpoint* NewestBut(
    absl::string_view name, const std::vector<v1::Checkpoint>& checkpoints) {
  for (const v1::Checkpoint& checkpoint : checkpoints) {
    if (checkpoint.state() == v1::Checkpoint::READY &&
        !HasDiverged(checkpoint) && checkpoint.name() != name) {
      return &checkpoint;
    }
  }
  return nullptr;
}

std::string NameAndSamples(const v1::Checkpoint& checkpoint) {
  return absl::StrCat(checkpoint.name(), " (", checkpoint.samples(),
                      " samples)");
}

// What can be done about a failure, if that is to begin at a checkpoint.
std::string WayBack(const RunOutcome& outcome, const v1::Job& job,
                    const std::vector<v1::Checkpoint>& checkpoints) {
  // Other initial weights would be another job.
  if (outcome.unrestored && job.restore_from().empty()) return "";
  if (outcome.unrestored) {
    const v1::Checkpoint* const other =
        NewestBut(job.restore_from(), checkpoints);
    if (other == nullptr) return "; the job has no other checkpoint";
    return absl::StrCat("; the job has another checkpoint, ",
                        NameAndSamples(*other),
                        ": paceline job restore JOB --checkpoint NAME");
  }
  if (!outcome.weights_lost && !outcome.diverged) return "";
  const v1::Checkpoint* const newest = NewestBut("", checkpoints);
  if (outcome.diverged && newest == nullptr) {
    return "; it has no checkpoint from before that: create a job anew, with a "
           "lower learning rate";
  }
  if (outcome.diverged) {
    // One that has failed cannot be changed, one that waits or trains can.
    return absl::StrCat(
        "; restore the job, and it goes on from ", NameAndSamples(*newest),
        ", and lower its learning rate then: paceline job restore JOB; "
        "paceline job update JOB --set spec.learning_rate=RATE");
  }
  if (newest == nullptr) {
    return ": the job has no checkpoint to go on from, create one anew";
  }
  return absl::StrCat(": restore the job, and it goes on from ",
                      NameAndSamples(*newest));
}

std::string WhyItFailed(const RunOutcome& outcome, const v1::Job& job,
                        const std::vector<v1::Checkpoint>* checkpoints) {
  return absl::StrCat(
      absl::StatusCodeToString(outcome.status.code()), ": ",
      outcome.status.message(),
      checkpoints == nullptr ? "" : WayBack(outcome, job, *checkpoints));
}

}  // namespace

JobEvent EndOf(const RunOutcome& outcome) {
  if (outcome.left_unsaved) return JobEvent::kLeftUnsaved;
  if (!outcome.status.ok()) return JobEvent::kFailed;
  return outcome.paused ? JobEvent::kInterrupted : JobEvent::kFinished;
}

std::string ReasonAfter(const RunOutcome& outcome, const v1::Job& job,
                        const std::string& interrupted,
                        const std::vector<v1::Checkpoint>* checkpoints) {
  switch (job.state()) {
    case v1::Job::PENDING:
      if (!interrupted.empty()) return interrupted;
      return outcome.out_of_servers ? "a parameter server has left: waits for "
                                      "others"
                                    : "its workers are gone: waits for others";
    case v1::Job::PAUSED:
      if (!outcome.left_unsaved) return "paused";
      return PausedReason(outcome.status.message(), job);
    case v1::Job::FAILED:
      return WhyItFailed(outcome, job, checkpoints);
    case v1::Job::CANCELLED:
      return job.state_reason();  // By whom.
    case v1::Job::SUCCEEDED:
      return outcome.warning.empty() ? outcome.ended_early : outcome.warning;
    default:
      return "";
  }
}

std::string UnsavedReason(const SavingDelayed& delayed,
                          const std::string& interrupted) {
  const bool in_hand = delayed.next <= absl::ZeroDuration();
  const std::string tried =
      in_hand ? (delayed.tries == 0
                     ? "a checkpoint that was begun before is under way"
                     : absl::StrCat("attempt ", delayed.tries, " is under way"))
              : absl::StrCat("tried ", delayed.tries, " times, again in ",
                             absl::FormatDuration(absl::Ceil(
                                 delayed.next, absl::Milliseconds(100))));
  return absl::StrCat(
      interrupted, interrupted.empty() ? "" : "; ",
      in_hand ? "its weights take long to be saved: "
              : "its weights cannot be saved: ",
      delayed.why.message(), "; ", tried,
      ". They stay with the servers meanwhile: make room, or save them "
      "elsewhere, paceline checkpoint create JOB --directory DIR; paceline job "
      "cancel JOB gives them up");
}

std::string PausedReason(absl::string_view why, const v1::Job& job) {
  return absl::StrCat(why,
                      job.restore_from().empty()
                          ? ": resume it, and it begins anew"
                          : ": resume it, and it goes on from ",
                      job.restore_from());
}

}  // namespace paceline
