#include "services/coordinator/run/run_record.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "services/coordinator/run/phase_times.h"
#include "services/coordinator/run/wire.h"
#include "services/coordinator/run_document.h"

namespace paceline {
namespace {

using Json = nlohmann::ordered_json;

// Of the loss shown while the job runs: about the last 50 pushes.
constexpr double kLossSmoothing = 0.02;

Json OrNull(const std::optional<double>& value) {
  return value.has_value() ? Json(*value) : Json(nullptr);
}

// The one that is measured against, of several.
std::optional<MetricTarget> TargetOf(const v1::StopConditions& stop) {
  if (stop.target_accuracy() > 0) return AccuracyTarget(stop.target_accuracy());
  if (stop.has_target()) return FromWire(stop.target());
  if (stop.target_loss() > 0) return LossTarget(stop.target_loss());
  return std::nullopt;
}

}  // namespace

void RunRecord::Begin(absl::Time now, absl::Duration before, int64_t parameters,
                      int64_t train_samples) {
  if (!began_.has_value()) before_ = before;
  began_ = now - before;
  rate_.Begin(now);
  parameters_ = parameters;
  train_samples_ = train_samples;
}

void RunRecord::SetStop(const v1::StopConditions& stop) { stop_ = stop; }

void RunRecord::SetParadigm(const std::string& paradigm) {
  paradigm_ = paradigm;
}

void RunRecord::Granted(const std::string& worker) {
  workers_[worker].state = "computing";
}

void RunRecord::Counted(const std::string& worker, const PushCounted& counted,
                        absl::Time now) {
  WorkerRow& row = workers_[worker];
  ++row.iterations;
  row.samples += counted.samples;
  row.samples_discarded += counted.discarded;
  row.gap.Add(counted.gap);
  row.staleness.Add(counted.staleness);
  ++pushes_;
  rate_.Add(now, counted.samples);
  last_push_seconds_ = SecondsAt(now);
}

void RunRecord::Reported(const std::string& worker,
                         const v1::PushDone& report) {
  WorkerRow& row = workers_[worker];
  row.state = "waiting";
  const v1::PhaseSeconds& seconds = report.seconds();
  if (AreTimes(seconds)) {
    row.load += seconds.load();
    row.compute += seconds.compute();
    row.push += seconds.push();
    row.wait += seconds.wait();
    row.pull += seconds.pull();
    row.longest_wait = std::max(row.longest_wait, seconds.wait());
  }
  push_bytes_ += report.push_bytes();
  pull_bytes_ += report.pull_bytes();
  refused_blocks_ += report.blocks_refused();
  if (report.discarded()) {
    ++discarded_;
    return;
  }
  if (!std::isfinite(report.loss())) return;
  const double before = loss_.value_or(report.loss());
  loss_ = before + kLossSmoothing * (report.loss() - before);
}

void RunRecord::Held(const std::string& worker) { ++workers_[worker].held; }

void RunRecord::Switched(const paceline::Switched& switched) {
  const double seconds = SecondsAt(switched.at);
  switches_.push_back({switched, seconds, std::nullopt});
}

void RunRecord::Settled(const SwitchSettled& settled) {
  switches_.back().took = absl::ToDoubleSeconds(settled.took);
}

void RunRecord::Lost(const std::string& worker) {
  workers_[worker].state = "lost";
}

void RunRecord::Evaluated(const AccuracyPoint& point) {
  InsertBySeconds(accuracy_, point);
}

void RunRecord::Decided(const std::string& worker, const Decision& decision) {
  if (decision.kind != DecisionKind::kNotFastest) return;
  ++workers_[worker].held_not_fastest;
}

double RunRecord::SecondsAt(absl::Time now) const {
  return began_.has_value() ? absl::ToDoubleSeconds(now - *began_) : 0;
}

int64_t RunRecord::SamplesOf(const std::string& worker) const {
  const auto row = workers_.find(worker);
  return row == workers_.end() ? 0 : row->second.samples;
}

void RunRecord::Progress(const TrainingView& view,
                         const std::map<WorkerId, std::string>& names,
                         absl::Time now, v1::JobProgress& progress) const {
  const double seconds = SecondsAt(now);
  const double rate = rate_.At(now);
  progress.set_seconds(seconds);
  progress.set_samples(view.samples_counted);
  progress.set_samples_discarded(view.samples_discarded);
  progress.set_samples_total(view.samples_total);
  progress.set_samples_per_second(rate);
  progress.set_version(view.version);
  progress.set_parameters(parameters_);
  progress.set_train_samples(train_samples_);
  if (loss_.has_value()) progress.set_loss(*loss_);
  if (!accuracy_.empty()) {
    const AccuracyPoint& last = accuracy_.back();
    if (last.accuracy.has_value()) progress.set_accuracy(*last.accuracy);
    progress.mutable_metrics()->insert(last.metrics.begin(),
                                       last.metrics.end());
  }
  const int64_t left = view.samples_total - view.samples_counted;
  double most = std::numeric_limits<double>::infinity();
  if (rate > 0) most = static_cast<double>(left) / rate;
  if (stop_.seconds() > 0) {
    most = std::min(most, std::max(0.0, stop_.seconds() - seconds));
  }
  if (left > 0 && std::isfinite(most)) progress.set_seconds_left(most);
  AddWorkers(view, names, progress);
}

void RunRecord::AddWorkers(const TrainingView& view,
                           const std::map<WorkerId, std::string>& names,
                           v1::JobProgress& progress) const {
  std::map<std::string, TrainingView::Worker> members;
  std::optional<WorkerClock> minimum;
  for (const TrainingView::Worker& worker : view.workers) {
    minimum = std::min(minimum.value_or(worker.clock), worker.clock);
    const auto name = names.find(worker.worker);
    if (name != names.end()) members[name->second] = worker;
  }
  const WorkerClock slowest = minimum.value_or(0);
  for (const auto& [name, row] : workers_) {
    v1::WorkerProgress& worker = *progress.add_workers();
    const auto member = members.find(name);
    const WorkerClock clock =
        member == members.end() ? slowest : member->second.clock;
    worker.set_worker(name);
    worker.set_state(row.state);
    worker.set_clock(clock);
    worker.set_gap(clock - slowest);
    worker.set_wait_seconds(row.wait);
    worker.set_iterations(row.iterations);
    worker.set_samples(row.samples);
    worker.set_samples_discarded(row.samples_discarded);
    const double busy = row.load + row.compute + row.push + row.pull;
    if (busy > 0) {
      worker.set_samples_per_second(static_cast<double>(row.samples) / busy);
    }
    if (member == members.end()) continue;
    worker.set_straggler_score(member->second.straggler_score);
    worker.set_straggler(member->second.straggler);
  }
}

Json RunRecord::Result(const TrainingView& view) const {
  Json result = {{"paradigm", paradigm_}, {"seconds", last_push_seconds_}};
  result["final_accuracy"] =
      accuracy_.empty() ? Json(nullptr) : OrNull(accuracy_.back().accuracy);
  result["final_metrics"] =
      accuracy_.empty() ? Json::object() : MetricsJson(accuracy_.back());
  const std::optional<MetricTarget> target = TargetOf(stop_);
  result["target"] =
      target.has_value() ? Json(FormatMetricTarget(*target)) : Json(nullptr);
  result["seconds_to_target"] =
      target.has_value() ? OrNull(SecondsToTarget(accuracy_, *target))
                         : Json(nullptr);
  result["samples"] = view.samples_counted;
  result["samples_discarded"] = view.samples_discarded;
  result["pushes"] = pushes_;
  result["updates"] = view.version;
  result["discarded"] = discarded_;
  result["refused_blocks"] = refused_blocks_;
  result["push_bytes"] = push_bytes_;
  result["pull_bytes"] = pull_bytes_;
  result["accuracy"] = AccuracyJson(accuracy_);
  result["switches"] = Json::array();
  for (const PastSwitch& past : switches_) {
    result["switches"].push_back(
        SwitchJson(past.what, past.seconds, past.took));
  }
  result["workers"] = Json::array();
  for (const auto& [name, row] : workers_) {
    result["workers"].push_back(WorkerResult(name, row));
  }
  return result;
}

Json RunRecord::WorkerResult(const std::string& name,
                             const WorkerRow& row) const {
  return {{"worker", name},
          {"iterations", row.iterations},
          {"samples", row.samples},
          {"samples_discarded", row.samples_discarded},
          {"seconds",
           {{"load", row.load},
            {"compute", row.compute},
            {"push", row.push},
            {"wait", row.wait},
            {"pull", row.pull}}},
          {"longest_wait_seconds", row.longest_wait},
          {"held", row.held},
          {"held_not_fastest", row.held_not_fastest},
          {"gap", QuantilesJson(row.gap)},
          {"staleness", QuantilesJson(row.staleness)}};
}

}  // namespace paceline
