#include "services/coordinator/control/job_history.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/proto_time.h"
#include "common/status.h"
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

void JobHistory::Tell(JobEntry& entry, std::string text,
                      std::optional<double> seconds) const {
  book_->mu().AssertHeld();
  v1::Decision decision;
  if (!seconds.has_value()) {
    seconds = entry.active != nullptr ? entry.active->Progress().seconds()
                                      : entry.job.progress().seconds();
  }
  decision.set_seconds(*seconds);
  decision.set_worker("job");
  decision.set_kind("job");
  decision.set_text(std::move(text));
  if (entry.news == nullptr && entry.events == nullptr) {
    // Nobody watches: thousands of jobs that wait need no events in memory.
    const auto last = store_->LastDecisionSequence(entry.job.uid());
    if (!last.ok()) return;
    entry.last_decision = std::max(*last, entry.last_decision) + 1;
    decision.set_sequence(entry.last_decision);
    *decision.mutable_time() = ToProto(absl::Now());
    journal_->AppendDecision(entry.job.uid(), decision);
  } else if (MakeNews(entry).ok()) {
    entry.news->Decided(decision);
  }
}

void JobHistory::TellState(JobEntry& entry, const v1::Job& job,
                           std::optional<double> seconds) const {
  const std::string state = StateName(job.state());
  const std::string& reason = job.state_reason();
  const bool says_more =
      !reason.empty() && reason != absl::AsciiStrToLower(state);
  Tell(entry, says_more ? absl::StrCat(state, ": ", reason) : state, seconds);
}

absl::StatusOr<std::string> JobHistory::ReportOf(const JobEntry& entry) const {
  if (!entry.unsaved.reports.empty()) return entry.unsaved.reports.back().json;
  PACELINE_ASSIGN_OR_RETURN(const auto stored,
                            store_->GetReport(entry.job.uid()));
  return stored.value_or("");
}

}  // namespace paceline
