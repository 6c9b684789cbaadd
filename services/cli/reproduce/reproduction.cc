#include "services/cli/reproduce/reproduction.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "services/cli/results_table.h"

namespace paceline {
namespace {

using Cells = std::vector<std::string>;

constexpr char kNone[] = "-";

// What ours are called beside the paper's.
Cells HeaderCells(const Reproduction& what, const ClusterFigures& figures) {
  Cells cells = {"RULE"};
  for (const std::string& column : what.experiment->published_columns) {
    cells.push_back(absl::StrCat("PAPER ", column));
  }
  for (const double target : what.scale.target_accuracies) {
    cells.push_back(absl::StrCat("TO ", target));
  }
  if (!what.scale.target_accuracies.empty()) {
    cells.push_back(absl::StrCat("BESIDE ", what.experiment->rules[0].label));
  }
  cells.insert(cells.end(),
               {"VIRTUAL S", "ACCURACY",
                absl::StrFormat("AT %.0f S", figures.equal_seconds)});
  return cells;
}

// How many times as soon as the base.
std::string Beside(const RuleFigures& rule, const RuleFigures& base) {
  const double mine = rule.to_targets.front().median;
  const double theirs = base.to_targets.front().median;
  if (!std::isfinite(mine) || !std::isfinite(theirs) || mine <= 0) return kNone;
  return absl::StrFormat("%.2fx", theirs / mine);
}

std::string ClusterTable(const Reproduction& what,
                         const ClusterFigures& figures) {
  std::vector<Cells> rows = {HeaderCells(what, figures)};
  for (size_t i = 0; i < figures.rules.size(); ++i) {
    const RuleFigures& rule = figures.rules[i];
    const ExperimentRule& described = what.experiment->rules[i];
    Cells row = {described.label};
    row.insert(row.end(), described.published.begin(),
               described.published.end());
    for (const Spread& seconds : rule.to_targets) {
      row.push_back(FormatSpread(seconds, 1));
    }
    if (!rule.to_targets.empty()) {
      row.push_back(Beside(rule, figures.rules[0]));
    }
    row.push_back(FormatSpread(rule.seconds, 1));
    row.push_back(FormatSpread(rule.accuracy, 4));
    row.push_back(FormatSpread(rule.accuracy_at_time, 4));
    rows.push_back(std::move(row));
  }
  return AlignColumns(rows, "  ");
}

// In percentage points, at equal time and at equal samples.
struct AccuracyGain {
  double at_time = 0;
  double at_samples = 0;
};

AccuracyGain AccuracyGainOf(const ExperimentGain& gain,
                            const ClusterFigures& figures) {
  const RuleFigures& ours = figures.rules[gain.ours];
  const RuleFigures& theirs = figures.rules[gain.asynchronous];
  return {100 * (ours.accuracy_at_time.median - theirs.accuracy_at_time.median),
          100 * (ours.accuracy.median - theirs.accuracy.median)};
}

// Over all clusters; nothing: it is not known on one of them.
std::optional<Ratio> MeanTimeGain(const ExperimentGain& gain,
                                  const std::vector<ClusterFigures>& figures) {
  Ratio mean;
  for (const ClusterFigures& each : figures) {
    const std::optional<Ratio> ratio = TimeGain(gain, each);
    if (!ratio.has_value()) return std::nullopt;
    mean.times += ratio->times / static_cast<double>(figures.size());
    mean.at_least |= ratio->at_least;
  }
  return mean;
}

AccuracyGain MeanAccuracyGain(const ExperimentGain& gain,
                              const std::vector<ClusterFigures>& figures) {
  AccuracyGain mean;
  for (const ClusterFigures& each : figures) {
    const AccuracyGain points = AccuracyGainOf(gain, each);
    mean.at_time += points.at_time / static_cast<double>(figures.size());
    mean.at_samples += points.at_samples / static_cast<double>(figures.size());
  }
  return mean;
}

Cells GainRow(const std::string& name, const std::optional<Ratio>& ratio,
              const AccuracyGain& points) {
  const std::string times =
      ratio.has_value()
          ? absl::StrFormat("%s%.2fx", ratio->at_least ? ">=" : "",
                            ratio->times)
          : kNone;
  return {name, times, absl::StrFormat("%+.2f", points.at_time),
          absl::StrFormat("%+.2f", points.at_samples)};
}

std::string GainText(const Experiment& experiment,
                     const std::vector<ClusterFigures>& figures) {
  const ExperimentGain& gain = experiment.gain;
  const std::string& ours = experiment.rules[gain.ours].label;
  const std::string& base = experiment.rules[gain.asynchronous].label;
  const auto published = [](const std::string& figure) {
    return figure.empty() ? std::string(kNone) : figure;
  };
  std::vector<Cells> rows = {{"CLUSTER", "TIMES AS SOON",
                              "POINTS AT EQUAL TIME",
                              "POINTS AT EQUAL SAMPLES"}};
  rows.push_back({"paper", published(gain.published_time),
                  published(gain.published_accuracy),
                  published(gain.published_accuracy)});
  for (const ClusterFigures& each : figures) {
    rows.push_back(GainRow(each.cluster, TimeGain(gain, each),
                           AccuracyGainOf(gain, each)));
  }
  rows.push_back(GainRow("mean", MeanTimeGain(gain, figures),
                         MeanAccuracyGain(gain, figures)));
  return absl::StrCat(
      "\n", ours, ": time to the target beside the mean of the ",
      gain.others.size(), " others, accuracy beside ", base, "\n",
      AlignColumns(rows, "  "),
      "(>=: a rule that never reached the target counts with its whole "
      "run)\n");
}

// What a smaller scale has changed, a line each.
std::vector<std::string> Reductions(const Reproduction& what) {
  const ExperimentScale& full = what.experiment->full;
  const ExperimentScale& ours = what.scale;
  const std::string trained =
      absl::StrCat(ours.model, " on ", ours.data, ", epochs: ", ours.epochs,
                   ", batches of ", ours.batch_size, ", rate ",
                   ours.learning_rate, ", schedule ", ours.schedule,
                   ours.data_assignment == kStaticDataAssignment
                       ? ", each worker with a part of the data"
                       : ", samples dealt to whoever is ready");
  if (full.model.empty()) return {absl::StrCat("trained: ", trained)};
  if (what.is_full)
    return {absl::StrCat("trained, as in the paper: ", trained)};
  return {absl::StrCat("trained: ", trained),
          absl::StrCat("instead of: ", full.model, " on ", full.data,
                       ", epochs: ", full.epochs, ", batches of ",
                       full.batch_size, ", rate ", full.learning_rate,
                       ", schedule ", full.schedule, " (--full)")};
}

std::string Listed(const std::string& title, const Cells& lines) {
  return absl::StrCat("\n", title, "\n  - ", absl::StrJoin(lines, "\n  - "),
                      "\n");
}

Json FiguresJson(const Reproduction& what, const ClusterFigures& figures) {
  Json rules = Json::array();
  for (size_t i = 0; i < figures.rules.size(); ++i) {
    const RuleFigures& rule = figures.rules[i];
    const ExperimentRule& described = what.experiment->rules[i];
    Json targets = Json::array();
    for (size_t t = 0; t < rule.to_targets.size(); ++t) {
      targets.push_back({{"accuracy", what.scale.target_accuracies[t]},
                         {"seconds", SpreadJson(rule.to_targets[t])}});
    }
    Json published = Json::object();
    for (size_t p = 0; p < described.published.size(); ++p) {
      published[what.experiment->published_columns[p]] = described.published[p];
    }
    rules.push_back(
        {{"rule", described.label},
         {"paradigms", described.paradigms},
         {"published", std::move(published)},
         {"targets", std::move(targets)},
         {"seconds", SpreadJson(rule.seconds)},
         {"accuracy", SpreadJson(rule.accuracy)},
         {"accuracy_at_equal_seconds", SpreadJson(rule.accuracy_at_time)}});
  }
  return {{"cluster", figures.cluster},
          {"equal_seconds", figures.equal_seconds},
          {"rules", std::move(rules)}};
}

Json GainJson(const Experiment& experiment,
              const std::vector<ClusterFigures>& figures) {
  const auto entry = [](const std::optional<Ratio>& ratio,
                        const AccuracyGain& points) -> Json {
    return {{"times_as_soon",
             ratio.has_value() ? Json(ratio->times) : Json(nullptr)},
            {"at_least", ratio.has_value() && ratio->at_least},
            {"points_at_equal_seconds", points.at_time},
            {"points_at_equal_samples", points.at_samples}};
  };
  const ExperimentGain& gain = experiment.gain;
  Json clusters = Json::object();
  for (const ClusterFigures& each : figures) {
    clusters[each.cluster] =
        entry(TimeGain(gain, each), AccuracyGainOf(gain, each));
  }
  return {{"rule", experiment.rules[gain.ours].label},
          {"published_time", gain.published_time},
          {"published_accuracy", gain.published_accuracy},
          {"clusters", std::move(clusters)},
          {"mean", entry(MeanTimeGain(gain, figures),
                         MeanAccuracyGain(gain, figures))}};
}

}  // namespace

std::string ReproductionText(const Reproduction& what,
                             const std::vector<ClusterFigures>& figures) {
  const Experiment& experiment = *what.experiment;
  std::string text =
      absl::StrCat(experiment.title, "\n", experiment.source, ".\n",
                   Listed("The paper says:", experiment.claims));
  for (const ClusterFigures& each : figures) {
    absl::StrAppend(&text, "\n", each.cluster, "\n", ClusterTable(what, each));
  }
  absl::StrAppend(&text,
                  "(ACCURACY is that of the end, after the same samples "
                  "for all rules; AT ... S is when the first of the "
                  "runs ended",
                  what.repeat > 1 ? absl::StrCat("; medians of ", what.repeat,
                                                 " seeds, with the least and "
                                                 "the most")
                                  : "",
                  ")\n");
  if (experiment.has_gain) {
    absl::StrAppend(&text, GainText(experiment, figures));
  }
  return absl::StrCat(
      text, Listed("What was run:", Reductions(what)),
      Listed("How it differs from the paper:", experiment.differences));
}

Json ReproductionJson(const Reproduction& what,
                      const std::vector<ClusterFigures>& figures) {
  const Experiment& experiment = *what.experiment;
  Json document = {
      {"experiment", experiment.name}, {"title", experiment.title},
      {"source", experiment.source},   {"claims", experiment.claims},
      {"repeat", what.repeat},         {"full", what.is_full}};
  document["clusters"] = Json::array();
  for (const ClusterFigures& each : figures) {
    document["clusters"].push_back(FiguresJson(what, each));
  }
  if (experiment.has_gain) document["gain"] = GainJson(experiment, figures);
  document["run"] = Reductions(what);
  document["differences"] = experiment.differences;
  return document;
}

}  // namespace paceline
