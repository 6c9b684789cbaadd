#include "services/coordinator/store/job_journal.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/log/log.h"

namespace paceline {
namespace {

// For rows that are few and matter more than decisions.
constexpr size_t kMoreRoom = 10;

bool MaySucceedLater(const absl::Status& status) {
  return absl::IsResourceExhausted(status) || absl::IsUnavailable(status) ||
         absl::IsFailedPrecondition(status);
}

}  // namespace

JobJournal::JobJournal(JobStore* store, const JournalOptions& options)
    : store_(store), options_(options), thread_([this] { Run(); }) {}

JobJournal::~JobJournal() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
  }
  thread_.join();
}

bool JobJournal::HasRoom(size_t most) {
  if (rows_ >= most) {
    if (counts_.dropped++ == 0) full_untold_ = true;
    return false;
  }
  ++rows_;
  ++appended_;
  return true;
}

void JobJournal::AppendDecision(const std::string& uid,
                                const v1::Decision& decision) {
  absl::MutexLock lock(&mu_);
  if (!HasRoom(options_.capacity)) return;
  waiting_.decisions.push_back({uid, decision});
}

void JobJournal::AppendAccuracyPoint(const std::string& uid,
                                     const v1::AccuracyPoint& point) {
  absl::MutexLock lock(&mu_);
  if (!HasRoom(options_.capacity * kMoreRoom)) return;
  waiting_.accuracy_points.push_back({uid, point});
}

void JobJournal::AppendAuditRecord(const v1::AuditRecord& record) {
  absl::MutexLock lock(&mu_);
  if (!HasRoom(options_.capacity * kMoreRoom)) return;
  waiting_.audit_records.push_back(record);
}

absl::Status JobJournal::Flush(absl::Duration timeout) {
  absl::MutexLock lock(&mu_);
  const uint64_t until = appended_;
  const auto done = [this, until]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return done_ >= until;
  };
  if (mu_.AwaitWithTimeout(absl::Condition(&done), timeout)) {
    return absl::OkStatus();
  }
  return absl::DeadlineExceededError(
      absl::StrCat(until - done_, " rows still wait for the disk"));
}

JobJournal::Counts JobJournal::counts() const {
  absl::MutexLock lock(&mu_);
  return counts_;
}

void JobJournal::Run() {
  while (true) {
    StoreBatch batch;
    {
      absl::MutexLock lock(&mu_);
      mu_.AwaitWithTimeout(absl::Condition(this, &JobJournal::HasWork),
                           options_.look_every);
      if (waiting_.empty() && stopping_) return;
      batch = std::exchange(waiting_, StoreBatch{});
      rows_ = 0;
    }
    if (batch.empty()) {
      store_->Check();
    } else {
      Write(batch);
    }
  }
}

void JobJournal::Write(const StoreBatch& batch) {
  const uint64_t rows = batch.decisions.size() + batch.accuracy_points.size() +
                        batch.audit_records.size();
  while (NoteResult(store_->Record(batch), rows)) {
    absl::MutexLock lock(&mu_);
    mu_.AwaitWithTimeout(absl::Condition(&stopping_), options_.retry_delay);
  }
}

bool JobJournal::NoteResult(const absl::Status& status, uint64_t rows) {
  bool again = false;
  bool was_failing = false;
  bool full = false;
  {
    absl::MutexLock lock(&mu_);
    again = MaySucceedLater(status) && !stopping_;
    was_failing = std::exchange(failing_, !status.ok());
    full = std::exchange(full_untold_, false);
    if (status.ok()) {
      counts_.written += rows;
    } else {
      ++counts_.failures;
      if (!again) counts_.failed += rows;
    }
    if (!again) done_ += rows;
  }
  // Without the lock: whoever appends must not wait for who reads the log.
  if (status.ok() && was_failing) LogInfo("history is written again");
  if (!status.ok() && !was_failing) {
    LogError(absl::StrCat(
        "history cannot be written, ",
        again ? "trying again: " : "some is lost: ", status.ToString()));
  }
  if (full) {
    LogError(absl::StrCat("history is lost: ", options_.capacity,
                          " rows wait for the disk already"));
  }
  return again;
}

}  // namespace paceline
