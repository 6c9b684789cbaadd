#include "services/coordinator/run_record.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "services/coordinator/run_document.h"

namespace paceline {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kDecisionsKept = 10'000;

// Of the loss shown while the job runs: about the last 50 pushes.
constexpr double kLossSmoothing = 0.02;

bool WorthTelling(DecisionKind kind) {
  switch (kind) {
    case DecisionKind::kLost:
    case DecisionKind::kLostPushTaken:
    case DecisionKind::kRangeReturned:
    case DecisionKind::kPartialPush:
    case DecisionKind::kBlocksRefused:
    case DecisionKind::kPushDiscarded:
    case DecisionKind::kDealingStopped:
    case DecisionKind::kStraggler:
    case DecisionKind::kNoStraggler:
    case DecisionKind::kHandedOver:
      return true;
    default:
      return false;
  }
}

Json OrNull(const std::optional<double>& value) {
  return value.has_value() ? Json(*value) : Json(nullptr);
}

}  // namespace

void RunRecord::Begin(absl::Time now) {
  absl::MutexLock lock(&mu_);
  began_ = now;
}

void RunRecord::Granted(const std::string& worker) {
  absl::MutexLock lock(&mu_);
  workers_[worker].state = "computing";
}

void RunRecord::Counted(const std::string& worker, const PushCounted& counted,
                        absl::Time now) {
  absl::MutexLock lock(&mu_);
  WorkerRow& row = workers_[worker];
  row.state = "waiting";
  ++row.iterations;
  row.samples += counted.samples;
  row.gap.Add(counted.gap);
  row.staleness.Add(counted.staleness);
  ++pushes_;
  if (began_.has_value()) {
    last_push_seconds_ = absl::ToDoubleSeconds(now - *began_);
  }
}

void RunRecord::Reported(const std::string& worker,
                         const v1::PushDone& report) {
  absl::MutexLock lock(&mu_);
  WorkerRow& row = workers_[worker];
  row.load += report.seconds().load();
  row.compute += report.seconds().compute();
  row.push += report.seconds().push();
  row.wait += report.seconds().wait();
  row.pull += report.seconds().pull();
  row.longest_wait = std::max(row.longest_wait, report.seconds().wait());
  push_bytes_ += report.push_bytes();
  pull_bytes_ += report.pull_bytes();
  refused_blocks_ += report.blocks_refused();
  if (report.discarded()) {
    ++discarded_;
    return;
  }
  const double before = loss_.value_or(report.loss());
  loss_ = before + kLossSmoothing * (report.loss() - before);
}

void RunRecord::Held(const std::string& worker) {
  absl::MutexLock lock(&mu_);
  ++workers_[worker].held;
}

void RunRecord::Switched(const paceline::Switched& switched) {
  const double seconds = SecondsAt(switched.at);
  absl::MutexLock lock(&mu_);
  switches_.push_back({switched, seconds, std::nullopt});
}

void RunRecord::Settled(const SwitchSettled& settled) {
  absl::MutexLock lock(&mu_);
  switches_.back().took = absl::ToDoubleSeconds(settled.took);
}

void RunRecord::Lost(const std::string& worker) {
  absl::MutexLock lock(&mu_);
  workers_[worker].state = "lost";
}

void RunRecord::Evaluated(const AccuracyPoint& point) {
  absl::MutexLock lock(&mu_);
  const auto later =
      std::upper_bound(accuracy_.begin(), accuracy_.end(), point.seconds,
                       [](double seconds, const AccuracyPoint& p) {
                         return seconds < p.seconds;
                       });
  accuracy_.insert(later, point);
}

std::optional<std::string> RunRecord::Decided(const std::string& worker,
                                              const Decision& decision,
                                              absl::Time at) {
  absl::MutexLock lock(&mu_);
  if (decision.kind == DecisionKind::kNotFastest) {
    ++workers_[worker].held_not_fastest;
  }
  const double seconds =
      began_.has_value() ? absl::ToDoubleSeconds(at - *began_) : 0;
  decisions_.push_back({seconds, worker, decision});
  if (decisions_.size() > kDecisionsKept) decisions_.pop_front();
  if (!WorthTelling(decision.kind)) return std::nullopt;
  return Render(decision);
}

double RunRecord::SecondsAt(absl::Time now) const {
  absl::MutexLock lock(&mu_);
  return began_.has_value() ? absl::ToDoubleSeconds(now - *began_) : 0;
}

bool RunRecord::begun() const {
  absl::MutexLock lock(&mu_);
  return began_.has_value();
}

bool RunRecord::TargetReached() const {
  absl::MutexLock lock(&mu_);
  return paceline::TargetReached(accuracy_, target_);
}

Json RunRecord::Progress(const EngineView& view,
                         const std::map<WorkerId, std::string>& names,
                         absl::Time now) const {
  absl::MutexLock lock(&mu_);
  const double seconds =
      began_.has_value() ? absl::ToDoubleSeconds(now - *began_) : 0;
  Json progress = {
      {"seconds", seconds},
      {"samples", view.samples_counted},
      {"samples_total", view.samples_total},
      {"samples_per_second",
       seconds > 0 ? static_cast<double>(view.samples_counted) / seconds : 0.0},
      {"version", view.version},
      {"loss", OrNull(loss_)},
      {"accuracy",
       accuracy_.empty() ? Json(nullptr) : Json(accuracy_.back().accuracy)}};
  std::map<std::string, WorkerClock> clocks;
  std::optional<WorkerClock> minimum;
  for (const EngineView::Worker& worker : view.workers) {
    minimum = std::min(minimum.value_or(worker.clock), worker.clock);
    const auto name = names.find(worker.worker);
    if (name != names.end()) clocks[name->second] = worker.clock;
  }
  const WorkerClock slowest = minimum.value_or(0);
  progress["workers"] = Json::array();
  for (const auto& [name, row] : workers_) {
    const auto clock = clocks.find(name);
    const WorkerClock value = clock == clocks.end() ? slowest : clock->second;
    progress["workers"].push_back({{"worker", name},
                                   {"state", row.state},
                                   {"clock", value},
                                   {"gap", value - slowest},
                                   {"wait_seconds", row.wait},
                                   {"iterations", row.iterations}});
  }
  return progress;
}

Json RunRecord::Result(const EngineView& view) const {
  absl::MutexLock lock(&mu_);
  Json result = {{"paradigm", paradigm_}, {"seconds", last_push_seconds_}};
  result["final_accuracy"] =
      accuracy_.empty() ? Json(nullptr) : Json(accuracy_.back().accuracy);
  result["seconds_to_target"] =
      target_ > 0 ? OrNull(SecondsToTarget(accuracy_, target_)) : Json(nullptr);
  result["samples"] = view.samples_counted;
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

Json RunRecord::Decisions() const {
  absl::MutexLock lock(&mu_);
  Json decisions = Json::array();
  for (const PastDecision& past : decisions_) {
    decisions.push_back({{"seconds", past.seconds},
                         {"worker", past.worker},
                         {"text", Render(past.decision)}});
  }
  return decisions;
}

}  // namespace paceline
