#include "services/coordinator/control/run_news.h"

#include <utility>

#include "absl/time/clock.h"
#include "common/proto_time.h"

namespace paceline {

RunNews::RunNews(std::string uid, int64_t last_decision,
                 std::shared_ptr<JobEvents> events, JobJournal* journal,
                 Inbox* inbox)
    : uid_(std::move(uid)),
      events_(std::move(events)),
      journal_(journal),
      inbox_(inbox),
      last_decision_(last_decision) {}

RunNews::Changes RunNews::Take() {
  absl::MutexLock lock(&inbox_->mu);
  return std::exchange(changes_, {});
}

v1::JobProgress RunNews::progress() const {
  absl::MutexLock lock(&inbox_->mu);
  return progress_;
}

int64_t RunNews::last_decision() const {
  absl::MutexLock lock(&inbox_->mu);
  return last_decision_;
}

void RunNews::Started(int64_t /*parameters*/, int64_t train_samples) {
  absl::MutexLock lock(&inbox_->mu);
  changes_.started = true;
  changes_.train_samples = train_samples;
  inbox_->woken = true;
}

void RunNews::Progressed(const v1::JobProgress& progress) {
  {
    absl::MutexLock lock(&inbox_->mu);
    progress_ = progress;
  }
  events_->SetProgress(progress);
}

void RunNews::Evaluated(const v1::AccuracyPoint& point) {
  journal_->AppendAccuracyPoint(uid_, point);
  v1::WatchJobResponse event;
  *event.mutable_accuracy() = point;
  events_->Append(std::move(event));
}

void RunNews::Decided(const v1::Decision& decision) {
  v1::WatchJobResponse event;
  v1::Decision& numbered = *event.mutable_decision();
  numbered = decision;
  *numbered.mutable_time() = ToProto(absl::Now());
  absl::MutexLock telling(&telling_);
  {
    absl::MutexLock lock(&inbox_->mu);
    numbered.set_sequence(++last_decision_);
  }
  journal_->AppendDecision(uid_, numbered);
  events_->Append(std::move(event));
}

void RunNews::Warned(const std::string& text) {
  absl::MutexLock lock(&inbox_->mu);
  changes_.warning = text;
  inbox_->woken = true;
}

void RunNews::ParadigmSwitched(const std::string& paradigm) {
  absl::MutexLock lock(&inbox_->mu);
  changes_.paradigm = paradigm;
  inbox_->woken = true;
}

void RunNews::BatchingSet(const std::string& batching) {
  absl::MutexLock lock(&inbox_->mu);
  changes_.batching = batching;
  inbox_->woken = true;
}

void RunNews::CheckpointChanged(const v1::Checkpoint& checkpoint, bool again) {
  absl::MutexLock lock(&inbox_->mu);
  changes_.checkpoints.push_back({checkpoint, again});
  inbox_->woken = true;
}

void RunNews::SavingWasDelayed(const SavingDelayed& delayed) {
  absl::MutexLock lock(&inbox_->mu);
  changes_.delayed = delayed;
  changes_.saved = false;
  inbox_->woken = true;
}

void RunNews::SavingHasSucceeded() {
  absl::MutexLock lock(&inbox_->mu);
  changes_.saved = true;
  changes_.delayed.reset();
  inbox_->woken = true;
}

}  // namespace paceline
