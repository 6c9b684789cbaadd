#include "services/coordinator/control/job_history.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "services/coordinator/control/job_report.h"
#include "services/coordinator/jobs/job_state.h"

namespace paceline {

absl::Status JobHistory::MakeNews(JobEntry& entry) const {
  book_->mu().AssertHeld();
  if (entry.news != nullptr) return absl::OkStatus();
  PACELINE_ASSIGN_OR_RETURN(const int64_t last,
                            store_->LastDecisionSequence(entry.job.uid()));
  entry.news = std::make_shared<RunNews>(
      entry.job.uid(), std::max(last, entry.last_decision),
      book_->EventsOf(entry), journal_, inbox_);
  return absl::OkStatus();
}

void JobHistory::Tell(JobEntry& entry, std::string text) const {
  if (!MakeNews(entry).ok()) return;
  v1::Decision decision;
  decision.set_seconds(entry.active != nullptr
                           ? entry.active->Progress().seconds()
                           : entry.job.progress().seconds());
  decision.set_worker("job");
  decision.set_kind("job");
  decision.set_text(std::move(text));
  entry.news->Decided(decision);
}

void JobHistory::TellState(JobEntry& entry, const v1::Job& job) const {
  const std::string state = StateName(job.state());
  const std::string& reason = job.state_reason();
  const bool says_more =
      !reason.empty() && reason != absl::AsciiStrToLower(state);
  Tell(entry, says_more ? absl::StrCat(state, ": ", reason) : state);
}

absl::StatusOr<std::string> JobHistory::ReportOf(const JobEntry& entry,
                                                 const JobRun* run) const {
  std::string before;
  if (entry.unsaved.reports.empty()) {
    PACELINE_ASSIGN_OR_RETURN(const auto stored,
                              store_->GetReport(entry.job.uid()));
    before = stored.value_or("");
  } else {
    before = entry.unsaved.reports.back().json;
  }
  const std::string report = run == nullptr ? "" : run->Report();
  if (report.empty()) return before;
  return MergeReports(before, report, run->SecondsBefore());
}

}  // namespace paceline
