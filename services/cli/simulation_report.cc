#include "services/cli/simulation_report.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "services/cli/results_table.h"
#include "services/coordinator/run_document.h"

namespace paceline {
namespace {

// If there are more workers, only the fewest and the most pushes are shown.
constexpr size_t kWorkersShown = 8;

// VirtualCluster gives a run up then: a hundred years.
constexpr double kLongestSeconds = 100.0 * 365 * 86'400 - 1;

Json WorkerRun(const WorkerResult& worker) {
  return {{"worker", worker.name},
          {"iterations", worker.pushes},
          {"samples", worker.samples},
          {"samples_discarded", worker.samples_discarded},
          {"seconds",
           {{"load", 0.0},
            {"compute", ToSeconds(worker.compute)},
            {"push", ToSeconds(worker.push)},
            {"wait", ToSeconds(worker.wait)},
            {"pull", ToSeconds(worker.pull)}}},
          {"longest_wait_seconds", ToSeconds(worker.longest_wait)},
          {"alive_seconds", ToSeconds(worker.alive)},
          {"held", worker.held},
          {"held_not_fastest", worker.held_not_fastest},
          {"gap", QuantilesJson(worker.gap)},
          {"staleness", QuantilesJson(worker.staleness)}};
}

Json SwitchOf(const SwitchResult& done) {
  const double at = absl::ToDoubleSeconds(done.what.at - absl::UnixEpoch());
  std::optional<double> took;
  if (done.took.has_value()) took = absl::ToDoubleSeconds(*done.took);
  return SwitchJson(done.what, at, took);
}

double Number(const Json& run, absl::string_view name) {
  return NumberField(run, name).value_or(0);
}

std::string OrDash(const Json& run, absl::string_view name, int digits) {
  const std::optional<double> value = NumberField(run, name);
  if (!value.has_value()) return "-";
  return absl::StrFormat("%.*f", digits, *value);
}

std::string PushesByWorker(const Json& run) {
  const Json* workers = FindField(run, "workers");
  if (workers == nullptr || workers->empty()) return "-";
  std::string all;
  int64_t fewest = std::numeric_limits<int64_t>::max();
  int64_t most = 0;
  for (const Json& worker : *workers) {
    const int64_t pushes = IntegerField(worker, "iterations");
    absl::StrAppend(&all, all.empty() ? "" : "/", pushes);
    fewest = std::min(fewest, pushes);
    most = std::max(most, pushes);
  }
  if (workers->size() <= kWorkersShown) return all;
  return absl::StrCat(fewest, "..", most);
}

// What a line of the table does not say.
std::string Notes(const Json& run) {
  std::string notes;
  const auto note = [&](absl::string_view text) {
    const Json* const seed = FindField(run, "seed");
    absl::StrAppend(
        &notes, TextField(run, "paradigm"),
        seed == nullptr ? "" : absl::StrCat(", seed ", seed->dump()), ": ",
        text, "\n");
  };
  const Json* complete = FindField(run, "complete");
  if (complete != nullptr && *complete == false) {
    note(Number(run, "seconds") < kLongestSeconds
             ? "could not go on: no worker is left"
             : "was given up: a hundred virtual years are over");
  }
  const auto count = [&](absl::string_view name, absl::string_view what) {
    const int64_t n = IntegerField(run, name);
    if (n > 0) note(absl::StrCat(what, ": ", n));
  };
  count("lost", "members lost, silent for a lease or stuck");
  count("discarded", "pushes discarded");
  count("samples_discarded", "their samples, from which nothing was learned");
  count("abandoned", "iterations abandoned");
  count("refreshed", "pushes of a part of the batch");
  if (absl::StrContains(TextField(run, "paradigm"), "k=auto") &&
      !NumberField(run, "final_accuracy").has_value()) {
    note("nothing was trained, so there was no loss to follow: K stayed k0");
  }
  const Json* switches = FindField(run, "switches");
  if (switches == nullptr) return notes;
  for (const Json& done : *switches) {
    const auto took = NumberField(done, "took_seconds");
    note(absl::StrFormat(
        "switched to %s after %.6g s, settled %s", TextField(done, "to"),
        Number(done, "seconds"),
        took.has_value() ? absl::StrFormat("in %.6g s", *took) : "never"));
  }
  return notes;
}

Json FinalAccuracy(const SimulationResult& result) {
  if (result.accuracy.empty() || !result.accuracy.back().accuracy.has_value()) {
    return nullptr;
  }
  return *result.accuracy.back().accuracy;
}

}  // namespace

Json SimulationRun(const SimulationResult& result) {
  const double seconds = ToSeconds(result.duration);
  Json run = {{"paradigm", result.paradigm},
              {"virtual", true},
              {"complete", result.complete},
              {"seconds", seconds},
              {"final_accuracy", FinalAccuracy(result)},
              {"seconds_to_target", result.seconds_to_target.has_value()
                                        ? Json(*result.seconds_to_target)
                                        : Json(nullptr)},
              {"samples", result.samples},
              {"samples_discarded", result.samples_discarded},
              {"samples_per_second",
               seconds > 0 ? static_cast<double>(result.samples) / seconds : 0},
              {"pushes", result.pushes},
              {"updates", result.updates},
              {"closings", result.closings},
              {"discarded", result.discarded},
              {"abandoned", result.abandoned},
              {"refreshed", result.refreshed},
              {"lost", result.lost},
              {"refused_blocks", result.refused_blocks},
              {"push_bytes", result.push_bytes},
              {"pull_bytes", result.pull_bytes},
              {"waiting_share", result.WaitingShare()},
              {"gap", QuantilesJson(result.gap)},
              {"staleness", QuantilesJson(result.staleness)}};
  if (!result.target.empty()) run["target"] = result.target;
  run["accuracy"] = AccuracyJson(result.accuracy);
  run["switches"] = Json::array();
  for (const SwitchResult& done : result.switches) {
    run["switches"].push_back(SwitchOf(done));
  }
  run["workers"] = Json::array();
  for (const WorkerResult& worker : result.workers) {
    run["workers"].push_back(WorkerRun(worker));
  }
  return run;
}

std::string SimulationLine(const SimulationResult& result,
                           const std::vector<TargetTime>& targets) {
  std::string text = absl::StrFormat("[%s] %.5g virtual s", result.paradigm,
                                     ToSeconds(result.duration));
  if (!result.accuracy.empty() && result.accuracy.back().accuracy.has_value()) {
    absl::StrAppendFormat(&text, ", accuracy %.4f",
                          *result.accuracy.back().accuracy);
  }
  if (targets.size() > 1) {
    for (const TargetTime& target : targets) {
      if (!target.seconds.has_value()) continue;
      absl::StrAppendFormat(&text, ", %g after %.5g s", target.accuracy,
                            *target.seconds);
    }
  } else if (result.seconds_to_target.has_value()) {
    absl::StrAppendFormat(&text, ", target after %.5g s",
                          *result.seconds_to_target);
  }
  return text;
}

std::string SimulationTable(const std::vector<Json>& runs) {
  if (runs.empty()) return "";
  const bool trained =
      std::any_of(runs.begin(), runs.end(), [](const Json& run) {
        return NumberField(run, "final_accuracy").has_value();
      });
  std::vector<std::vector<std::string>> rows = {
      {"PARADIGM", "VIRTUAL S", "PUSHES", "UPDATES", "SAMPLES/S", "WAITING",
       "GAP", "STALENESS", "PUSHES BY WORKER"}};
  const std::vector<double> targets = TargetsOf({{.runs = runs}});
  if (trained) {
    std::vector<std::string> headers = TargetHeaders(targets);
    headers.insert(headers.begin(), "ACCURACY");
    rows[0].insert(rows[0].begin() + 2, headers.begin(), headers.end());
  }
  std::string notes;
  std::vector<ComparedRuns> compared;
  for (const Json& run : runs) {
    compared.push_back({.label = TextField(run, "paradigm"), .runs = {run}});
    std::vector<std::string> row = {
        TextField(run, "paradigm"),
        absl::StrFormat("%.2f", Number(run, "seconds")),
        absl::StrCat(IntegerField(run, "pushes")),
        absl::StrCat(IntegerField(run, "updates")),
        absl::StrFormat("%.1f", Number(run, "samples_per_second")),
        absl::StrFormat("%.1f%%", 100 * Number(run, "waiting_share")),
        Distribution(run, "gap"),
        Distribution(run, "staleness"),
        PushesByWorker(run)};
    if (trained) {
      std::vector<std::string> cells = TargetCells({.runs = {run}}, targets);
      cells.insert(cells.begin(), OrDash(run, "final_accuracy", 4));
      row.insert(row.begin() + 2, cells.begin(), cells.end());
    }
    rows.push_back(std::move(row));
    absl::StrAppend(&notes, Notes(run));
  }
  return absl::StrCat(AlignColumns(rows, ""),
                      "(gap and staleness: median/99th percentile/maximum)\n",
                      notes, TargetConclusion(compared));
}

std::string RepeatedSimulationTable(const std::vector<ComparedRuns>& results) {
  if (results.empty()) return "";
  const std::vector<double> targets = TargetsOf(results);
  const bool trained = std::ranges::any_of(results, [](const auto& of) {
    return RunsWith(of, "final_accuracy") > 0;
  });
  std::vector<std::vector<std::string>> rows = {
      {"PARADIGM", "RUNS", "VIRTUAL S", "PUSHES", "UPDATES", "SAMPLES/S",
       "WAITING %"}};
  if (trained) {
    std::vector<std::string> headers = TargetHeaders(targets);
    headers.insert(headers.begin(), "ACCURACY");
    headers.emplace_back("REACHED");
    rows[0].insert(rows[0].begin() + 3, headers.begin(), headers.end());
  }
  std::string notes;
  for (const ComparedRuns& of : results) {
    const auto text = [](const std::optional<Spread>& spread, int digits) {
      return spread.has_value() ? FormatSpread(*spread, digits) : "-";
    };
    std::vector<std::string> row = {
        of.label,
        absl::StrCat(of.runs.size()),
        text(SpreadOfField(of, "seconds"), 2),
        text(SpreadOfField(of, "pushes"), 0),
        text(SpreadOfField(of, "updates"), 0),
        text(SpreadOfField(of, "samples_per_second"), 1)};
    std::optional<Spread> waiting = SpreadOfField(of, "waiting_share");
    if (waiting.has_value()) {
      waiting =
          Spread{100 * waiting->median, 100 * waiting->min, 100 * waiting->max};
    }
    row.push_back(text(waiting, 1));
    if (trained) {
      std::vector<std::string> cells = TargetCells(of, targets);
      cells.insert(cells.begin(), text(SpreadOfField(of, "final_accuracy"), 4));
      cells.push_back(
          absl::StrCat(RunsWith(of, "seconds_to_target"), "/", of.runs.size()));
      row.insert(row.begin() + 3, cells.begin(), cells.end());
    }
    rows.push_back(std::move(row));
    for (const Json& run : of.runs) absl::StrAppend(&notes, Notes(run));
  }
  return absl::StrCat(
      AlignColumns(rows, ""),
      "(medians; the least and the most of the runs stand in brackets)\n",
      notes, TargetConclusion(results));
}

}  // namespace paceline
