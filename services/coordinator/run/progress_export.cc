#include "services/coordinator/run/progress_export.h"

#include <optional>
#include <set>
#include <string>
#include <utility>

namespace paceline {

void ExportProgress(const v1::JobProgress& progress, const TrainingView& view,
                    const std::map<WorkerId, LinkedMember>& members,
                    JobMetrics& metrics) {
  metrics.samples->Set(static_cast<double>(progress.samples()));
  metrics.samples_wanted->Set(static_cast<double>(progress.samples_total()));
  if (progress.has_accuracy()) metrics.SetAccuracy(progress.accuracy());
  if (progress.has_loss()) metrics.SetLoss(progress.loss());
  if (progress.has_gradient_noise()) {
    const v1::GradientNoise& noise = progress.gradient_noise();
    std::optional<double> scale;
    if (noise.has_noise_scale()) scale = noise.noise_scale();
    metrics.SetGradientNoise(noise.gradient_norm(), scale);
  }
  metrics.SetMetrics({progress.metrics().begin(), progress.metrics().end()});
  metrics.SetParadigm(progress.paradigm());
  size_t trainers = 0;
  std::map<std::string, std::pair<TrainingView::Worker, const LinkedMember*>>
      training;
  std::set<std::string> names;
  for (const auto& [worker, member] : members) {
    if (!member.evaluator) ++trainers;
  }
  metrics.workers->Set(static_cast<double>(trainers));
  if (view.samples_total == 0) return;  // The training has not begun.
  metrics.SetThreshold(view.policy.threshold);
  metrics.SetGroups(view.policy.groups);
  for (const TrainingView::Worker& worker : view.workers) {
    const auto member = members.find(worker.worker);
    if (member == members.end()) continue;
    // Of two with one name the later stays.
    training[member->second.name] = {worker, &member->second};
    names.insert(member->second.name);
  }
  metrics.KeepWorkers(names);
  for (const v1::WorkerProgress& measured : progress.workers()) {
    const auto found = training.find(measured.worker());
    if (found == training.end()) continue;
    const auto& [worker, member] = found->second;
    JobMetrics::Worker* const series =
        metrics.OfWorker(measured.worker(), member->pool, member->gpu_model);
    if (series == nullptr) continue;
    series->samples_per_second->Set(measured.samples_per_second());
    series->straggler_score->Set(measured.straggler_score());
    series->straggler->Set(measured.straggler() ? 1 : 0);
    series->gap->Set(static_cast<double>(measured.gap()));
    series->batch->Set(worker.batch);
    series->lag->Set(static_cast<double>(worker.lag.value_or(0)));
  }
}

}  // namespace paceline
