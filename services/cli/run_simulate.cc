#include "services/cli/run_simulate.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "common/status.h"
#include "services/cli/plot/plot_page.h"
#include "services/cli/simulation_report.h"
#include "services/coordinator/planner/simulated_pilot.h"
#include "services/simulator/timeline.h"
#include "services/simulator/virtual_cluster.h"

namespace paceline {
namespace {

// Spans of one run's timeline: about 13 bytes each on the page.
constexpr size_t kSpansDrawn = 20'000;

struct FinishedRun {
  absl::Status status;
  bool complete = true;
  Json document;  // An element of "runs".
  Json drawn;     // `document` with what only the page has; null without it.
};

absl::Status TakeTraining(const SimulateOptions& options,
                          const VirtualTraining& training,
                          SimulationResult& result) {
  PACELINE_RETURN_IF_ERROR(training.status());
  result.accuracy = training.accuracy();
  result.refused_blocks = training.refused_blocks();
  const StopConditions& stop = options.cluster.settings.stop;
  if (stop.target_accuracy > 0) {
    result.seconds_to_target =
        SecondsToTarget(result.accuracy, AccuracyTarget(stop.target_accuracy));
  } else if (stop.target.has_value()) {
    result.seconds_to_target = SecondsToTarget(result.accuracy, *stop.target);
  }
  return absl::OkStatus();
}

// `drawn` takes what only the page shows; null: there is none.
absl::StatusOr<SimulationResult> Simulate(const SimulateOptions& options,
                                          const ComparedRun& run,
                                          Timeline* drawn) {
  ClusterSpec cluster = options.cluster;
  cluster.run.paradigm = run.paradigm;
  PACELINE_ASSIGN_OR_RETURN(cluster.settings.batching,
                            ParseBatching(run.batching));
  std::unique_ptr<VirtualTraining> training;
  if (options.data != nullptr) {
    PACELINE_ASSIGN_OR_RETURN(
        training,
        VirtualTraining::Create(options.training, &options.data->train,
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

Json DrawnRun(const SimulateOptions& options, const SimulationResult& result,
              const Timeline& timeline) {
  Json run = SimulationRun(result);
  run["timeline"] = TimelineJson(timeline);
  run["gap_histogram"] = HistogramJson(result.gap);
  run["staleness_histogram"] = HistogramJson(result.staleness);
  const double target = options.cluster.settings.stop.target_accuracy;
  if (target > 0) run["target_accuracy"] = target;
  return run;
}

FinishedRun RunOne(const SimulateOptions& options, const ComparedRun& run) {
  const bool draw = !options.plot.empty();
  Timeline timeline(options.cluster.workers.size(), kSpansDrawn);
  const absl::StatusOr<SimulationResult> result =
      Simulate(options, run, draw ? &timeline : nullptr);
  if (!result.ok()) {
    return {Annotate(result.status(), run.label), false, {}, {}};
  }
  return {absl::OkStatus(), result->complete, SimulationRun(*result),
          draw ? DrawnRun(options, *result, timeline) : Json()};
}

// "[bsp] 312.4 virtual s, accuracy 0.9812, target after 201.7 s".
std::string NoteOf(const FinishedRun& run) {
  std::string text = absl::StrFormat(
      "[%s] %.5g virtual s", TextField(run.document, "paradigm"),
      NumberField(run.document, "seconds").value_or(0));
  if (const auto accuracy = NumberField(run.document, "final_accuracy")) {
    absl::StrAppendFormat(&text, ", accuracy %.4f", *accuracy);
  }
  if (const auto target = NumberField(run.document, "seconds_to_target")) {
    absl::StrAppendFormat(&text, ", target after %.5g s", *target);
  }
  return text;
}

std::vector<FinishedRun> RunAll(
    const SimulateOptions& options,
    const std::function<void(absl::string_view)>& note) {
  std::vector<FinishedRun> runs(options.runs.size());
  std::atomic<size_t> next = 0;
  absl::Mutex noting;
  const auto work = [&] {
    for (size_t i = next++; i < runs.size(); i = next++) {
      runs[i] = RunOne(options, options.runs[i]);
      if (options.data == nullptr || note == nullptr || !runs[i].status.ok()) {
        continue;
      }
      absl::MutexLock lock(&noting);
      note(NoteOf(runs[i]));
    }
  };
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  while (threads.size() + 1 < std::min(cores, runs.size())) {
    threads.emplace_back(work);
  }
  work();
  for (std::thread& thread : threads) thread.join();
  return runs;
}

// The page of --plot. Written beside its place, and opened before the runs, so
// that none is in vain and an older page stays until there is a new one.
class PlotFile {
 public:
  ~PlotFile() {
    if (!path_.empty()) std::remove(PartPath().c_str());
  }

  // The errors of RunSimulate(). Does nothing without a path.
  absl::Status Open(const std::string& path) {
    if (path.empty()) return absl::OkStatus();
    PACELINE_RETURN_IF_ERROR(PlotPage(Json::object(), "").status());
    path_ = path;
    file_.open(PartPath());
    return file_.good() ? absl::OkStatus() : NotWritten();
  }

  absl::Status Write(std::vector<Json> runs, const std::string& command) {
    if (path_.empty()) return absl::OkStatus();
    Json document;
    document["runs"] = std::move(runs);
    PACELINE_ASSIGN_OR_RETURN(const std::string page,
                              PlotPage(document, command));
    file_ << page;
    file_.close();
    if (!file_.good()) return NotWritten();
    const bool renamed = std::rename(PartPath().c_str(), path_.c_str()) == 0;
    return renamed ? absl::OkStatus() : NotWritten();
  }

 private:
  std::string PartPath() const { return absl::StrCat(path_, ".part"); }
  absl::Status NotWritten() const {
    return absl::FailedPreconditionError(
        absl::StrCat("--plot ", path_, ": the file cannot be written"));
  }

  std::string path_;
  std::ofstream file_;
};

std::string Text(const std::vector<Json>& runs, bool json) {
  if (!json) return SimulationTable(runs);
  Json document;
  document["runs"] = runs;
  return absl::StrCat(document.dump(2), "\n");
}

}  // namespace

absl::StatusOr<SimulateOutput> RunSimulate(
    const SimulateFlags& flags, const std::string& command,
    const std::function<void(absl::string_view)>& note) {
  PACELINE_ASSIGN_OR_RETURN(const SimulateOptions options,
                            ParseSimulateOptions(flags));
  PlotFile plot;
  PACELINE_RETURN_IF_ERROR(plot.Open(options.plot));
  SimulateOutput output;
  std::vector<Json> documents;
  std::vector<Json> drawn;
  for (FinishedRun& run : RunAll(options, note)) {
    output.status.Update(run.status);
    if (!run.status.ok()) continue;
    if (!run.complete) {
      output.status.Update(absl::AbortedError(absl::StrCat(
          TextField(run.document, "paradigm"), " could not go on to the end")));
    }
    documents.push_back(std::move(run.document));
    drawn.push_back(std::move(run.drawn));
  }
  output.status.Update(plot.Write(std::move(drawn), command));
  output.text = Text(documents, options.json);
  return output;
}

}  // namespace paceline
