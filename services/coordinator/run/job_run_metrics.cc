// What of a run's progress is exported as metrics.

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "services/coordinator/run/job_run.h"

namespace paceline {

void JobRun::ExportProgress(const v1::JobProgress& progress) {
  const std::vector<Member> present = roster_.Present();
  metrics_->workers->Set(static_cast<double>(
      std::count_if(present.begin(), present.end(), IsTrainer)));
  metrics_->samples->Set(static_cast<double>(progress.samples()));
  metrics_->samples_wanted->Set(static_cast<double>(progress.samples_total()));
  if (progress.has_accuracy()) metrics_->SetAccuracy(progress.accuracy());
  if (progress.has_loss()) metrics_->SetLoss(progress.loss());
  metrics_->SetParadigm(progress.paradigm());
  {
    absl::MutexLock lock(&mu_);
    metrics_->checkpoint_interval_seconds->Set(
        absl::ToDoubleSeconds(CheckpointInterval()));
  }
  Engine* const engine = this->engine();
  if (engine == nullptr) return;
  const EngineView view = engine->View();
  metrics_->SetThreshold(view.policy.threshold);
  metrics_->SetGroups(view.policy.groups);
  ExportWorkers(view, progress);
}

void JobRun::ExportWorkers(const EngineView& view,
                           const v1::JobProgress& progress) {
  std::map<std::string, EngineView::Worker> members;
  std::set<std::string> names;
  for (const EngineView::Worker& worker : view.workers) {
    const std::string name = roster_.NameOf(worker.worker);
    // Of two with one name the later stays.
    members[name] = worker;
    names.insert(name);
  }
  metrics_->KeepWorkers(names);
  for (const v1::WorkerProgress& measured : progress.workers()) {
    const auto member = members.find(measured.worker());
    if (member == members.end()) continue;
    const std::optional<Member> known = roster_.Find(member->second.worker);
    if (!known.has_value()) continue;
    JobMetrics::Worker* const series =
        metrics_->OfWorker(measured.worker(), known->pool, known->gpu_model);
    if (series == nullptr) continue;
    series->samples_per_second->Set(measured.samples_per_second());
    series->straggler_score->Set(measured.straggler_score());
    series->straggler->Set(measured.straggler() ? 1 : 0);
    series->gap->Set(static_cast<double>(measured.gap()));
    series->batch->Set(member->second.batch);
    series->lag->Set(static_cast<double>(member->second.lag.value_or(0)));
  }
}

}  // namespace paceline
