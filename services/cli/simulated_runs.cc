#include "services/cli/simulated_runs.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <thread>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "common/job/metric_target.h"
#include "common/status.h"
#include "services/cli/compared_runs.h"
#include "services/cli/plot/plot_page.h"
#include "services/cli/simulation_report.h"
#include "services/coordinator/planner/simulated_pilot.h"
#include "services/simulator/timeline.h"
#include "services/simulator/virtual_cluster.h"

namespace paceline {
namespace {

// Spans of one run's timeline: about 13 bytes each on the page.
constexpr size_t kSpansDrawn = 20'000;

absl::Status TakeTraining(const SimulateOptions& options,
                          const VirtualTraining& training,
                          SimulationResult& result) {
  PACELINE_RETURN_IF_ERROR(training.status());
  result.accuracy = training.accuracy();
  result.refused_blocks = training.refused_blocks();
  const StopConditions& stop = options.cluster.settings.stop;
  std::optional<MetricTarget> target = stop.target;
  if (!options.target_accuracies.empty()) {
    target = AccuracyTarget(options.target_accuracies.front());
  }
  if (!target.has_value()) return absl::OkStatus();
  result.target = FormatMetricTarget(*target);
  result.seconds_to_target = SecondsToTarget(result.accuracy, *target);
  return absl::OkStatus();
}

// `drawn` takes what only the page shows; null: there is none.
absl::StatusOr<SimulationResult> Simulate(const SimulateOptions& options,
                                          const PlannedRun& planned,
                                          Timeline* drawn) {
  const ComparedRun& run = planned.run;
  ClusterSpec cluster = options.cluster;
  cluster.run.paradigm = run.paradigm;
  cluster.seed = planned.seed;
  if (planned.step.has_value()) {
    cluster.settings.learning_rate = planned.step->learning_rate;
    cluster.run.total_momentum = TotalMomentum(planned.step->optimizer);
  }
  PACELINE_ASSIGN_OR_RETURN(cluster.settings.batching,
                            ParseBatching(run.batching));
  std::unique_ptr<VirtualTraining> training;
  if (options.data != nullptr) {
    TrainingSpec spec = options.training;
    spec.seed = planned.seed;
    if (planned.step.has_value()) spec.optimizer = planned.step->optimizer;
    PACELINE_ASSIGN_OR_RETURN(
        training, VirtualTraining::Create(spec, &options.data->train,
                                          &options.data->test));
  }
  SimulatedPilot pilot(&cluster);
  ClusterObserver* steered = nullptr;
  if (run.automatic) {
    cluster.pilot = &pilot;
    steered = &pilot;
  }
  SimulationResult result =
      VirtualCluster(&cluster, {training.get(), drawn, steered}).Run();
  result.paradigm = run.label;  // As it was typed, as in a real run.
  if (training != nullptr) {
    PACELINE_RETURN_IF_ERROR(TakeTraining(options, *training, result));
  }
  return result;
}

Json DrawnRun(const FinishedRun& finished, const Timeline& timeline) {
  const SimulationResult& result = finished.result;
  Json run = SimulationRun(result);
  SetTargets(finished.targets, run);
  run["timeline"] = TimelineJson(timeline);
  run["gap_histogram"] = HistogramJson(result.gap);
  run["staleness_histogram"] = HistogramJson(result.staleness);
  return run;
}

absl::StatusOr<FinishedRun> SimulateOne(const SimulateOptions& options,
                                        const PlannedRun& planned) {
  Timeline timeline(options.cluster.workers.size(), kSpansDrawn);
  absl::StatusOr<SimulationResult> result =
      Simulate(options, planned, planned.draws ? &timeline : nullptr);
  if (!result.ok()) return Annotate(result.status(), planned.run.label);
  FinishedRun finished;
  finished.result = *std::move(result);
  finished.targets =
      TargetTimes(finished.result.accuracy, options.target_accuracies);
  if (planned.draws) finished.drawn = DrawnRun(finished, timeline);
  return finished;
}

}  // namespace

std::vector<PlannedRun> PlanRuns(const SimulateOptions& options) {
  std::vector<PlannedRun> planned;
  for (const RepeatedRun& run :
       ByTurns(options.runs.size(), options.repeat, options.cluster.seed)) {
    planned.push_back({.run = options.runs[run.option],
                       .seed = run.seed,
                       .draws = run.turn == 0 && !options.plot.empty()});
  }
  return planned;
}

std::vector<absl::StatusOr<FinishedRun>> SimulateAll(
    const SimulateOptions& options, absl::Span<const PlannedRun> runs,
    const std::function<void(const FinishedRun&)>& ended) {
  std::vector<absl::StatusOr<FinishedRun>> finished(runs.size());
  std::atomic<size_t> next = 0;
  absl::Mutex telling;
  const auto work = [&] {
    for (size_t i = next++; i < runs.size(); i = next++) {
      finished[i] = SimulateOne(options, runs[i]);
      if (finished[i].ok()) finished[i]->index = i;
      if (ended == nullptr || !finished[i].ok()) continue;
      absl::MutexLock lock(&telling);
      ended(*finished[i]);
    }
  };
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  while (threads.size() + 1 < std::min(cores, runs.size())) {
    threads.emplace_back(work);
  }
  work();
  for (std::thread& thread : threads) thread.join();
  return finished;
}

}  // namespace paceline
