#include "services/coordinator/run/journal/run_log.h"

#include <nlohmann/json.hpp>

#include "common/log/log.h"

namespace paceline {
namespace {

void LogGivenUp(const std::string& job, const absl::Status& why) {
  LogError(
      "the run has no journal: another life of the coordinator cannot go on "
      "with it",
      {{"job", job}, {"reason", std::string(why.message())}});
}

}  // namespace

void RunLog::Begin(const std::string& path) {
  auto journal = RunJournal::Create(path);
  if (!journal.ok()) return LogGivenUp(job_, journal.status());
  GoOn(*std::move(journal), 0);
}

void RunLog::GoOn(std::unique_ptr<RunJournal> journal, int64_t events) {
  absl::MutexLock lock(&mu_);
  journal_ = std::move(journal);
  events_ = events;
  active_ = true;
}

void RunLog::Write(absl::string_view records) {
  absl::MutexLock lock(&mu_);
  if (journal_ == nullptr) return;
  const absl::Status written = journal_->Write(records);
  if (written.ok()) return;
  LogGivenUp(job_, written);
  journal_.reset();  // It has removed the file.
  active_ = false;
}

void RunLog::Remove() {
  absl::MutexLock lock(&mu_);
  if (journal_ != nullptr) journal_->Remove();
  journal_.reset();
  active_ = false;
  events_ = 0;
}

}  // namespace paceline
