#ifndef PACELINE_SERVICES_COORDINATOR_CONTROL_JOB_HISTORY_H_
#define PACELINE_SERVICES_COORDINATOR_CONTROL_JOB_HISTORY_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/coordinator/control/job_book.h"
#include "services/coordinator/control/run_news.h"
#include "services/coordinator/store/job_journal.h"
#include "services/coordinator/store/job_store.h"

namespace paceline {

// What is told of jobs, one after the other: by their runs, and, as decisions
// of the kind "job", who has created, paused, resumed or changed a job, and the
// states in which its runs began and ended.
//
// All methods: REQUIRES: the book's lock is held.
class JobHistory {
 public:
  // All outlive it.
  JobHistory(JobStore* store, JobJournal* journal, JobBook* book, Inbox* inbox)
      : store_(store), journal_(journal), book_(book), inbox_(inbox) {}

  // What a run tells things to, unless the entry has it. The errors are the
  // store's.
  absl::Status MakeNews(JobEntry& entry) const;
  // Something that has happened to the whole job, so many seconds of training
  // after its begin; by default, now. It is left out where the store fails.
  void Tell(JobEntry& entry, std::string text,
            std::optional<double> seconds = std::nullopt) const;
  // The state that the job has reached, and why. `job` is or becomes the
  // entry's: who watches it until its end hears of that before.
  void TellState(JobEntry& entry, const v1::Job& job,
                 std::optional<double> seconds = std::nullopt) const;

  // What the job's ended runs have measured: v1::JobReport.json; empty if none
  // has trained. The errors are the store's.
  absl::StatusOr<std::string> ReportOf(const JobEntry& entry) const;

 private:
  JobStore* const store_;
  JobJournal* const journal_;
  JobBook* const book_;
  Inbox* const inbox_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_CONTROL_JOB_HISTORY_H_
