#include "services/cli/results_table.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/check.h"
#include "common/job/metric_target.h"
#include "services/cli/one_line.h"

namespace paceline {
namespace {

constexpr char kUnknown[] = "-";

constexpr char kSpreadsExplained[] =
    "(medians; the least and the most of the runs stand in brackets)\n";

using Row = std::vector<std::string>;

constexpr absl::string_view kPhases[] = {"compute", "wait", "push", "pull",
                                         "load"};

std::string Format(const std::optional<Spread>& spread, int digits) {
  return spread.has_value() ? FormatSpread(*spread, digits) : kUnknown;
}

// What a comparison divides: the median of the seconds to the target, or of all
// seconds when no run knows a target. Nothing: half the runs never got there.
std::optional<double> Compared(const ComparedRuns& of, bool to_target) {
  const std::optional<Spread> spread =
      to_target ? SpreadOfTime(of, "seconds_to_target")
                : SpreadOfField(of, "seconds");
  if (!spread.has_value() || !std::isfinite(spread->median)) {
    return std::nullopt;
  }
  return spread->median;
}

std::string SpeedUp(const ComparedRuns& of, const ComparedRuns& first,
                    bool to_target) {
  const std::optional<double> mine = Compared(of, to_target);
  const std::optional<double> base = Compared(first, to_target);
  if (!mine.has_value() || !base.has_value() || *mine <= 0) return kUnknown;
  return absl::StrFormat("%.2fx", *base / *mine);
}

bool AnyReachedTarget(const std::vector<ComparedRuns>& results) {
  return std::any_of(results.begin(), results.end(), [](const auto& of) {
    return RunsWith(of, "seconds_to_target") > 0;
  });
}

std::optional<Spread> FinalLosses(const ComparedRuns& of) {
  std::vector<double> losses;
  for (const Json& run : of.runs) {
    if (const auto loss = FinalLoss(run)) losses.push_back(*loss);
  }
  if (losses.empty()) return std::nullopt;
  return SpreadOf(losses);
}

// Whether the table shows losses, since no run has an accuracy.
bool HaveOnlyLosses(const std::vector<ComparedRuns>& results) {
  const auto any = [&](auto has) {
    return std::any_of(results.begin(), results.end(), has);
  };
  return any([](const ComparedRuns& of) {
           return FinalLosses(of).has_value();
         }) &&
         !any([](const ComparedRuns& of) {
           return RunsWith(of, "final_accuracy") > 0;
         });
}

// What the runs have measured beside accuracy and loss, as far as a line has
// room.
std::vector<std::string> OtherMetrics(
    const std::vector<ComparedRuns>& results) {
  constexpr size_t kMost = 3;
  std::set<std::string> names;
  for (const ComparedRuns& of : results) {
    for (const Json& run : of.runs) {
      const Json* const metrics = FindField(run, "final_metrics");
      if (metrics == nullptr || !metrics->is_object()) continue;
      for (const auto& [name, value] : metrics->items()) {
        if (name != kAccuracyMetric && name != kLossMetric) names.insert(name);
      }
    }
  }
  std::vector<std::string> shown(names.begin(), names.end());
  shown.resize(std::min(shown.size(), kMost));
  return shown;
}

std::optional<Spread> FinalMetric(const ComparedRuns& of,
                                  const std::string& metric) {
  std::vector<double> values;
  for (const Json& run : of.runs) {
    const Json* const measured = FindField(run, "final_metrics");
    if (measured == nullptr) continue;
    if (const auto value = NumberField(*measured, metric)) {
      values.push_back(*value);
    }
  }
  if (values.empty()) return std::nullopt;
  return SpreadOf(values);
}

// Which columns there are beside those that are always there.
struct Columns {
  bool repeated = false;
  bool by_loss = false;
  bool to_target = false;
  std::vector<double> targets;  // If there are several.
  std::vector<std::string> metrics;
};

Row HeaderRow(const Columns& columns) {
  Row row = {"PARADIGM"};
  if (columns.repeated) row.emplace_back("RUNS");
  row.insert(row.end(), {"SECONDS", columns.by_loss ? "LOSS" : "ACCURACY"});
  for (const std::string& metric : columns.metrics) {
    row.push_back(absl::AsciiStrToUpper(OneLine(metric)));
  }
  std::ranges::copy(TargetHeaders(columns.targets), std::back_inserter(row));
  row.insert(row.end(), {"SPEED-UP", "SAMPLES/S", "UPDATES"});
  return row;
}

Row ComparedRow(const ComparedRuns& of, const ComparedRuns& first,
                const Columns& columns) {
  Row row = {of.label};
  if (columns.repeated) row.push_back(absl::StrCat(of.runs.size()));
  row.push_back(Format(SpreadOfField(of, "seconds"), 2));
  row.push_back(Format(
      columns.by_loss ? FinalLosses(of) : SpreadOfField(of, "final_accuracy"),
      4));
  for (const std::string& metric : columns.metrics) {
    row.push_back(Format(FinalMetric(of, metric), 4));
  }
  std::ranges::copy(TargetCells(of, columns.targets), std::back_inserter(row));
  row.push_back(SpeedUp(of, first, columns.to_target));
  row.push_back(Format(SpreadOfRate(of), 0));
  row.push_back(Format(SpreadOfField(of, "updates").value_or(Spread()), 0));
  return row;
}

std::string ComparisonTable(const std::vector<ComparedRuns>& results) {
  const Columns columns = {.repeated = AnyRepeated(results),
                           .by_loss = HaveOnlyLosses(results),
                           .to_target = AnyReachedTarget(results),
                           .targets = TargetsOf(results),
                           .metrics = OtherMetrics(results)};
  std::vector<Row> rows = {HeaderRow(columns)};
  for (const ComparedRuns& of : results) {
    rows.push_back(ComparedRow(of, results.front(), columns));
  }
  return absl::StrCat(AlignColumns(rows, ""),
                      columns.repeated ? kSpreadsExplained : "");
}

// "the target accuracy", "perplexity<=20".
std::string TargetOf(const std::vector<ComparedRuns>& results) {
  const ComparedRuns& first = results.front();
  if (const std::vector<double> several = TargetsOf(results);
      !several.empty()) {
    return absl::StrCat("the accuracy ", several.front());
  }
  const std::string target =
      first.runs.empty() ? "" : TextField(first.runs.front(), "target");
  if (target.empty() || absl::StartsWith(target, "accuracy>=")) {
    return "the target accuracy";
  }
  return OneLine(target);
}

// The share of their time that a run's workers waited, together; none when that
// is not known.
std::optional<double> WaitShareOfRun(const Json& run) {
  const Json* workers = FindField(run, "workers");
  if (workers == nullptr || !workers->is_array()) return std::nullopt;
  double waited = 0;
  double total = 0;
  for (const Json& worker : *workers) {
    const Json* seconds = FindField(worker, "seconds");
    if (seconds == nullptr) continue;
    for (absl::string_view phase : kPhases) {
      total += NumberField(*seconds, phase).value_or(0);
    }
    waited += NumberField(*seconds, "wait").value_or(0);
  }
  if (total <= 0) return std::nullopt;
  return waited / total;
}

// The median of the runs.
std::optional<double> WaitShare(const ComparedRuns& of) {
  std::vector<double> shares;
  for (const Json& run : of.runs) {
    if (const auto share = WaitShareOfRun(run)) shares.push_back(*share);
  }
  if (shares.empty()) return std::nullopt;
  return MedianOf(shares);
}

// Which paradigms have runs that did not reach the target, a line each.
std::string Missed(const std::vector<ComparedRuns>& results) {
  std::string missed;
  for (const ComparedRuns& of : results) {
    const size_t reached = RunsWith(of, "seconds_to_target");
    if (reached == of.runs.size()) continue;
    if (reached == 0) {
      absl::StrAppend(&missed, "\n", of.label, " did not reach ",
                      TargetOf(results), ".");
    } else {
      absl::StrAppend(&missed, "\n", of.label, " reached ", TargetOf(results),
                      " in ", reached, " of ", of.runs.size(), " runs.");
    }
  }
  return missed;
}

// The paradigm that came first; null: none did.
const ComparedRuns* Soonest(const std::vector<ComparedRuns>& results,
                            bool to_target) {
  const ComparedRuns* soonest = nullptr;
  for (const ComparedRuns& of : results) {
    const std::optional<double> seconds = Compared(of, to_target);
    if (seconds.has_value() &&
        (soonest == nullptr || *seconds < *Compared(*soonest, to_target))) {
      soonest = &of;
    }
  }
  return soonest;
}

// What the comparison says, in words; empty when it says nothing.
std::string Conclusion(const std::vector<ComparedRuns>& results) {
  const bool to_target = AnyReachedTarget(results);
  const ComparedRuns* const soonest = Soonest(results, to_target);
  if (results.size() < 2 || soonest == nullptr) return "";
  const ComparedRuns& first = results.front();
  const std::string& winner = soonest->label;
  const std::string& base = first.label;
  const std::string speed_up = SpeedUp(*soonest, first, to_target);
  const std::string did =
      to_target ? absl::StrCat("reached ", TargetOf(results)) : "ended";
  std::string text;
  if (soonest == &first) {
    text = absl::StrCat("\nNo other run ", did, " sooner than ", base, ".");
  } else if (speed_up == kUnknown) {
    text = absl::StrCat("\n", winner, " ", did, " the soonest.");
  } else {
    text = absl::StrFormat(
        "\n%s %s %s as soon as %s: after %.2f s instead of %.2f s.", winner,
        did, speed_up, base, *Compared(*soonest, to_target),
        *Compared(first, to_target));
  }
  const std::optional<double> mine = WaitShare(*soonest);
  const std::optional<double> theirs = WaitShare(first);
  if (soonest != &first && mine.has_value() && theirs.has_value()) {
    absl::StrAppendFormat(&text,
                          "\nIts workers waited for each other %.0f%% of their "
                          "time, those of %s %.0f%%.",
                          100 * *mine, base, 100 * *theirs);
  }
  return absl::StrCat(text, to_target ? Missed(results) : "", "\n");
}

// What the samples of the runs do not say: that some were computed in vain.
std::string Discarded(const std::vector<ComparedRuns>& results) {
  std::string text;
  for (const auto& [label, runs] : results) {
    int64_t discarded = 0;
    int64_t samples = 0;
    for (const Json& run : runs) {
      discarded += IntegerField(run, "samples_discarded");
      samples += IntegerField(run, "samples");
    }
    if (discarded == 0) continue;
    absl::StrAppend(&text, label, ": ", discarded, " of ", samples,
                    " samples were discarded: nothing was learned from "
                    "them.\n");
  }
  return text;
}

Row WorkerRow(const Json& worker) {
  Row row = {TextField(worker, "worker"),
             absl::StrCat(IntegerField(worker, "iterations")),
             absl::StrCat(IntegerField(worker, "samples"))};
  const Json* found = FindField(worker, "seconds");
  const Json seconds = found == nullptr ? Json::object() : *found;
  double total = 0;
  for (absl::string_view phase : kPhases) {
    total += NumberField(seconds, phase).value_or(0);
  }
  for (absl::string_view phase : kPhases) {
    const std::optional<double> share = NumberField(seconds, phase);
    row.push_back(share.has_value() && total > 0
                      ? absl::StrFormat("%.0f%%", 100 * *share / total)
                      : kUnknown);
  }
  row.push_back(Distribution(worker, "gap"));
  row.push_back(Distribution(worker, "staleness"));
  return row;
}

// Where nobody loads, which is usual, the table fits a narrow terminal better.
void LeaveOutLoading(std::vector<Row>& rows) {
  const auto column = std::ranges::find(rows[0], "LOAD") - rows[0].begin();
  const bool idle = std::all_of(
      rows.begin() + 1, rows.end(),
      [&](const Row& row) { return row[static_cast<size_t>(column)] == "0%"; });
  if (!idle) return;
  for (Row& row : rows) row.erase(row.begin() + column);
}

}  // namespace

std::string AlignColumns(const std::vector<std::vector<std::string>>& rows,
                         const std::string& indent) {
  if (rows.empty()) return "";
  std::vector<size_t> widths(rows[0].size(), 0);
  for (const std::vector<std::string>& row : rows) {
    CHECK(row.size() == widths.size());
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    text += indent;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      if (i == 0) {
        absl::StrAppend(&text, row[i], row.size() > 1 ? padding : "");
      } else {
        absl::StrAppend(&text, "  ", padding, row[i]);
      }
    }
    text += '\n';
  }
  return text;
}

std::string WorkersTable(const std::string& label, const Json& run) {
  const Json* workers = FindField(run, "workers");
  if (workers == nullptr || !workers->is_array() || workers->empty()) return "";
  std::vector<Row> rows = {{"WORKER", "ITERATIONS", "SAMPLES", "COMPUTE",
                            "WAIT", "PUSH", "PULL", "LOAD", "GAP",
                            "STALENESS"}};
  for (const Json& worker : *workers) rows.push_back(WorkerRow(worker));
  LeaveOutLoading(rows);
  return absl::StrCat("\n", label,
                      " (gap and staleness: median/99th percentile/maximum)\n",
                      AlignColumns(rows, "  "));
}

std::string ResultsTable(const std::vector<ComparedRuns>& results) {
  if (results.empty()) return "";
  std::string text = absl::StrCat(ComparisonTable(results), Conclusion(results),
                                  Discarded(results));
  if (AnyRepeated(results)) return text;
  for (const auto& [label, runs] : results) {
    for (const Json& run : runs) {
      absl::StrAppend(&text, WorkersTable(label, run));
    }
  }
  return text;
}

std::string TargetConclusion(const std::vector<ComparedRuns>& results) {
  return AnyReachedTarget(results) ? Conclusion(results) : "";
}

std::optional<double> FinalLoss(const Json& run) {
  const Json* const points = FindField(run, "accuracy");
  if (points == nullptr || !points->is_array() || points->empty()) {
    return std::nullopt;
  }
  return NumberField(points->back(), kLossMetric);
}

std::string Distribution(const Json& object, absl::string_view name) {
  const Json* field = FindField(object, name);
  if (field == nullptr) return kUnknown;
  const auto text = [field](absl::string_view quantile) {
    const std::optional<double> value = NumberField(*field, quantile);
    return value.has_value() ? absl::StrFormat("%.0f", *value) : kUnknown;
  };
  return absl::StrCat(text("p50"), "/", text("p99"), "/", text("max"));
}

}  // namespace paceline
