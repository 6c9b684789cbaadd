#include "services/coordinator/run/journal/run_log.h"

#include <nlohmann/json.hpp>
#include <utility>

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

RunLog::RunLog(std::string job, std::string job_uid, StandbyFeed* feed,
               bool fsync, int64_t most_events)
    : job_(std::move(job)),
      job_uid_(std::move(job_uid)),
      feed_(feed),
      fsync_(fsync),
      most_events_(most_events) {
  if (feed_ != nullptr) feed_->Add(this);
}

RunLog::~RunLog() {
  if (feed_ != nullptr) feed_->Remove(this);
}

v1::JournalChange RunLog::Change() const {
  v1::JournalChange change;
  change.set_job_uid(job_uid_);
  return change;
}

void RunLog::Begin(const std::string& path) {
  auto journal = RunJournal::Create(path);
  absl::MutexLock lock(&mu_);
  if (!journal.ok()) {
    LogGivenUp(job_, journal.status());
    // There may be one of another run of the job.
    journal_ = RunJournal::At(path);
    return GiveUp();
  }
  Start(*std::move(journal), 0);
  if (feed_ == nullptr) return;
  following_ = feed_->following();
  v1::JournalChange change = Change();
  change.set_begun(true);
  feed_->Append(following_, std::move(change));
}

void RunLog::GoOn(std::unique_ptr<RunJournal> journal, int64_t events) {
  absl::MutexLock lock(&mu_);
  Start(std::move(journal), events);
}

void RunLog::Start(std::unique_ptr<RunJournal> journal, int64_t events) {
  journal_ = std::move(journal);
  events_ = events;
  active_ = true;
}

bool RunLog::Write(absl::string_view records, StandbyFeed::Log::Callback safe) {
  {
    absl::MutexLock lock(&mu_);
    if (!active_) return true;
    const absl::Status written = journal_->Write(records, fsync_);
    if (!written.ok()) {
      LogGivenUp(job_, written);
      GiveUp();
    }
    if (feed_ == nullptr) return true;
    v1::JournalChange change = Change();
    if (written.ok()) {
      change.set_records(std::string(records));
    } else {
      change.set_removed(true);
    }
    feed_->Append(following_, std::move(change));
  }
  return !feed_->log().AwaitHeld(safe);
}

void RunLog::Remove() {
  absl::MutexLock lock(&mu_);
  const bool was_active = active_;
  GiveUp();
  events_ = 0;
  if (feed_ == nullptr || !was_active) return;
  v1::JournalChange change = Change();
  change.set_removed(true);
  feed_->Append(following_, std::move(change));
}

void RunLog::Leave(absl::string_view last) {
  absl::MutexLock lock(&mu_);
  if (!active_) return;
  const absl::Status written = journal_->Write(last, fsync_);
  if (!written.ok()) LogWarning(written.message(), {{"job", job_}});
  active_ = false;
  journal_.reset();
  if (feed_ == nullptr) return;
  v1::JournalChange change = Change();
  change.set_records(std::string(last));
  feed_->Append(following_, std::move(change));
}

void RunLog::GiveUp() {
  active_ = false;
  if (journal_ != nullptr && journal_->Remove()) journal_.reset();
}

void RunLog::RemoveRest() {
  if (active_) return;
  absl::MutexLock lock(&mu_);
  if (!active_) GiveUp();
}

absl::Status RunLog::AppendAll(uint64_t following) {
  absl::MutexLock lock(&mu_);
  following_ = following;
  return active_ ? journal_->AppendTo(*feed_, following, job_uid_)
                 : absl::OkStatus();
}

}  // namespace paceline
