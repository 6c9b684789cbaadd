#include "services/coordinator/job_metrics.h"

namespace paceline {
namespace {

// "ssp" of "ssp:s=3": parameters have too many values for a label.
std::string NameOf(const std::string& paradigm) {
  return paradigm.substr(0, paradigm.find(':'));
}

}  // namespace

JobMetrics::JobMetrics(prometheus::Registry& registry, const std::string& job)
    : series_(registry, "paceline_coordinator_", {{"job_id", job}}) {
  for (const LossReason reason :
       {LossReason::kStreamBroken, LossReason::kLeaseEnded, LossReason::kStuck,
        LossReason::kDeparted, LossReason::kFailed, LossReason::kNotFinite}) {
    workers_lost.emplace(
        reason, series_.With({{"reason", Render(reason)}})
                    .Counter("workers_lost_total",
                             "Workers that are no longer members, by reason."));
  }
  for (const DecisionKind kind : DecisionKinds()) {
    decisions.emplace(
        kind,
        series_.With({{"reason", std::string(NameOf(kind))}})
            .Counter("decisions_total",
                     "Decisions about workers, by reason: docs/metrics.md "
                     "says what each means."));
  }
}

JobMetrics::Worker* JobMetrics::OfWorker(const std::string& worker,
                                         const std::string& pool,
                                         const std::string& gpu_model) {
  const auto it = workers_.find(worker);
  if (it != workers_.end()) {
    if (it->second.Is(pool, gpu_model)) return &it->second;
    // First, for the new one's have the same labels.
    workers_.erase(it);
  }
  if (workers_.size() == kWorkersMax) return nullptr;
  return &workers_
              .try_emplace(worker, series_.With({{"worker", worker}}), pool,
                           gpu_model)
              .first->second;
}

void JobMetrics::KeepWorkers(const std::set<std::string>& present) {
  std::erase_if(workers_, [&](const auto& entry) {
    return !present.contains(entry.first);
  });
}

void JobMetrics::SetParadigm(const std::string& paradigm) {
  const std::string name = NameOf(paradigm);
  if (info_.has_value() && paradigm_ == name) return;
  paradigm_ = name;
  // The old one goes first: there is one at a time.
  info_.reset();
  info_.emplace(series_.With({{"paradigm", name}})
                    .Gauge("paradigm_info",
                           "1, with the paradigm in force as its label."));
  (*info_)->Set(1);
}

void JobMetrics::SetThreshold(std::optional<int64_t> iterations) {
  SetOrEnd(iterations, "threshold_iterations",
           "By how much a worker may be ahead of the slowest now and still go "
           "on; absent if the paradigm has no such bound.",
           threshold_);
}

void JobMetrics::SetGroups(std::optional<int64_t> groups) {
  SetOrEnd(groups, "groups",
           "Groups of workers; absent if the paradigm makes none.", groups_);
}

void JobMetrics::SetAccuracy(double ratio) {
  SetOrEnd(ratio, "accuracy_ratio",
           "Test accuracy of the last evaluation; absent before the first.",
           accuracy_);
}

void JobMetrics::SetLoss(double nats) {
  SetOrEnd(nats, "loss",
           "Training loss in nats, smoothed over about 50 pushes; absent "
           "before the first.",
           loss_);
}

void JobMetrics::SetGradientNoise(double norm, std::optional<double> scale) {
  SetOrEnd(norm, "gradient_norm",
           "Norm of the gradient over all samples, as rounds have measured it; "
           "0: noise hides it; absent before.",
           gradient_norm_);
  SetOrEnd(scale, "gradient_noise_scale_samples",
           "Samples of a batch whose gradient has as much noise as signal; "
           "absent if the norm is absent or 0.",
           noise_scale_);
}

void JobMetrics::SetMetrics(const std::map<std::string, double>& metrics) {
  for (const auto& [name, value] : metrics) {
    auto it = metrics_.find(name);
    if (it == metrics_.end()) {
      if (metrics_.size() == kMetricsMax) continue;
      it = metrics_
               .emplace(name,
                        series_.With({{"metric", name}})
                            .Gauge("evaluation_metric",
                                   "A metric of the last evaluation, by the "
                                   "name that its program gives it; at most 16 "
                                   "names of a job."))
               .first;
    }
    it->second->Set(value);
  }
}

void JobMetrics::SetOrEnd(std::optional<double> value, const char* name,
                          const char* help, std::optional<Gauge>& gauge) {
  if (!value.has_value()) return gauge.reset();
  if (!gauge.has_value()) gauge.emplace(series_.Gauge(name, help));
  (*gauge)->Set(*value);
}

void JobMetrics::Switched(const std::string& from, const std::string& to) {
  const std::pair<std::string, std::string> names = {NameOf(from), NameOf(to)};
  const auto it = switches_.find(names);
  if (it != switches_.end()) return it->second->Increment();
  switches_
      .emplace(
          names,
          series_.With({{"from", names.first}, {"to", names.second}})
              .Counter("paradigm_switches_total", "Paradigms that took over."))
      .first->second->Increment();
}

}  // namespace paceline
