#include "services/coordinator/control/run_news.h"

#include <utility>

#include "absl/time/clock.h"
#include "services/coordinator/control/proto_time.h"

namespace paceline {

RunNews::RunNews(std::string uid, int64_t last_decision,
                 std::shared_ptr<JobEvents> events, JobJournal* journal,
                 std::function<void()> changed)
    : uid_(std::move(uid)),
      events_(std::move(events)),
      journal_(journal),
      changed_(std::move(changed)),
      last_decision_(last_decision) {}

RunNews::Changes RunNews::Take() {
  absl::MutexLock lock(&mu_);
  return std::exchange(changes_, {});
}

v1::JobProgress RunNews::progress() const {
  absl::MutexLock lock(&mu_);
  return progress_;
}

int64_t RunNews::last_decision() const {
  absl::MutexLock lock(&mu_);
  return last_decision_;
}

void RunNews::Started(int64_t /*parameters*/, int64_t /*train_samples*/) {
  {
    absl::MutexLock lock(&mu_);
    changes_.started = true;
  }
  changed_();
}

void RunNews::Progressed(const v1::JobProgress& progress) {
  {
    absl::MutexLock lock(&mu_);
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
  // Held: who follows takes a lower number after a higher one for an old one.
  absl::MutexLock lock(&mu_);
  numbered.set_sequence(++last_decision_);
  journal_->AppendDecision(uid_, numbered);
  events_->Append(std::move(event));
}

void RunNews::ParadigmSwitched(const std::string& paradigm) {
  {
    absl::MutexLock lock(&mu_);
    changes_.paradigm = paradigm;
  }
  changed_();
}

void RunNews::CheckpointChanged(const v1::Checkpoint& checkpoint) {
  {
    absl::MutexLock lock(&mu_);
    changes_.checkpoints.push_back(checkpoint);
  }
  changed_();
}

}  // namespace paceline
