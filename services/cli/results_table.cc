#include "services/cli/results_table.h"

#include <algorithm>
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

using Row = std::vector<std::string>;

constexpr absl::string_view kPhases[] = {"compute", "wait", "push", "pull",
                                         "load"};

std::string Format(std::optional<double> value, int digits) {
  if (!value.has_value()) return kUnknown;
  return absl::StrFormat("%.*f", digits, *value);
}

// What a comparison divides: the seconds to the target, or all seconds when
// the first run knows no target.
std::optional<double> Compared(const Json& run, bool to_target) {
  return NumberField(run, to_target ? "seconds_to_target" : "seconds");
}

std::string SpeedUp(const Json& run, const Json& first, bool to_target) {
  const std::optional<double> mine = Compared(run, to_target);
  const std::optional<double> base = Compared(first, to_target);
  if (!mine.has_value() || !base.has_value() || *mine <= 0) return kUnknown;
  return absl::StrFormat("%.2fx", *base / *mine);
}

std::string SamplesPerSecond(const Json& run) {
  const std::optional<double> seconds = NumberField(run, "seconds");
  const std::optional<double> samples = NumberField(run, "samples");
  if (!seconds.has_value() || !samples.has_value() || *seconds <= 0) {
    return kUnknown;
  }
  return absl::StrFormat("%.0f", *samples / *seconds);
}

bool AnyReachedTarget(const std::vector<ComparedResult>& results) {
  return std::any_of(results.begin(), results.end(), [](const auto& result) {
    return NumberField(result.run, "seconds_to_target").has_value();
  });
}

// Whether the table shows losses, since no run has an accuracy.
bool HaveOnlyLosses(const std::vector<ComparedResult>& results) {
  const auto any = [&](auto has) {
    return std::any_of(results.begin(), results.end(), [&](const auto& result) {
      return has(result.run).has_value();
    });
  };
  return any(FinalLoss) && !any([](const Json& run) {
           return NumberField(run, "final_accuracy");
         });
}

// What the runs have measured beside accuracy and loss, as far as a line has
// room.
std::vector<std::string> OtherMetrics(
    const std::vector<ComparedResult>& results) {
  constexpr size_t kMost = 3;
  std::set<std::string> names;
  for (const ComparedResult& result : results) {
    const Json* const metrics = FindField(result.run, "final_metrics");
    if (metrics == nullptr || !metrics->is_object()) continue;
    for (const auto& [name, value] : metrics->items()) {
      if (name != kAccuracyMetric && name != kLossMetric) names.insert(name);
    }
  }
  std::vector<std::string> shown(names.begin(), names.end());
  shown.resize(std::min(shown.size(), kMost));
  return shown;
}

std::string ComparisonTable(const std::vector<ComparedResult>& results) {
  const bool to_target = AnyReachedTarget(results);
  const std::vector<std::string> metrics = OtherMetrics(results);
  const bool by_loss = HaveOnlyLosses(results);
  std::vector<Row> rows = {
      {"PARADIGM", "SECONDS", by_loss ? "LOSS" : "ACCURACY"}};
  for (const std::string& metric : metrics) {
    rows[0].push_back(absl::AsciiStrToUpper(OneLine(metric)));
  }
  for (const char* const header :
       {"TO TARGET", "SPEED-UP", "SAMPLES/S", "UPDATES"}) {
    rows[0].push_back(header);
  }
  for (const auto& [label, run] : results) {
    Row row = {
        label, Format(NumberField(run, "seconds"), 2),
        Format(by_loss ? FinalLoss(run) : NumberField(run, "final_accuracy"),
               4)};
    for (const std::string& metric : metrics) {
      const Json* const measured = FindField(run, "final_metrics");
      row.push_back(Format(
          measured == nullptr ? std::nullopt : NumberField(*measured, metric),
          4));
    }
    row.push_back(Format(NumberField(run, "seconds_to_target"), 2));
    row.push_back(SpeedUp(run, results.front().run, to_target));
    row.push_back(SamplesPerSecond(run));
    row.push_back(absl::StrCat(IntegerField(run, "updates")));
    rows.push_back(std::move(row));
  }
  return AlignColumns(rows, "");
}

// "the target accuracy", "perplexity<=20".
std::string TargetOf(const std::vector<ComparedResult>& results) {
  const std::string target = TextField(results.front().run, "target");
  if (target.empty() || absl::StartsWith(target, "accuracy>=")) {
    return "the target accuracy";
  }
  return OneLine(target);
}

// The share of their time that a run's workers waited, together; none when that
// is not known.
std::optional<double> WaitShare(const Json& run) {
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

// What the comparison says, in words; empty when it says nothing.
std::string Conclusion(const std::vector<ComparedResult>& results) {
  const bool to_target = AnyReachedTarget(results);
  const ComparedResult* soonest = nullptr;
  std::string missed;
  for (const ComparedResult& result : results) {
    const std::optional<double> seconds = Compared(result.run, to_target);
    if (seconds.has_value() &&
        (soonest == nullptr || *seconds < *Compared(soonest->run, to_target))) {
      soonest = &result;
    }
    if (to_target && !seconds.has_value()) {
      absl::StrAppend(&missed, "\n", result.label, " did not reach ",
                      TargetOf(results), ".");
    }
  }
  if (results.size() < 2 || soonest == nullptr) return "";
  const ComparedResult& first = results.front();
  const std::string& winner = soonest->label;
  const std::string& base = first.label;
  const std::string speed_up = SpeedUp(soonest->run, first.run, to_target);
  const std::string did =
      to_target ? absl::StrCat("reached ", TargetOf(results)) : "ended";
  std::string text;
  if (soonest == &first) {
    text = absl::StrCat("\nNo other run ", did, " sooner than ", base, ".");
  } else if (speed_up == kUnknown) {
    text = absl::StrCat("\n", winner, " ", did, " the soonest.");
  } else {
    text = absl::StrCat(
        "\n", winner, " ", did, " ", speed_up, " as soon as ", base, ": after ",
        Format(Compared(soonest->run, to_target), 2), " s instead of ",
        Format(Compared(first.run, to_target), 2), " s.");
  }
  const std::optional<double> mine = WaitShare(soonest->run);
  const std::optional<double> theirs = WaitShare(first.run);
  if (soonest != &first && mine.has_value() && theirs.has_value()) {
    absl::StrAppendFormat(&text,
                          "\nIts workers waited for each other %.0f%% of their "
                          "time, those of %s %.0f%%.",
                          100 * *mine, base, 100 * *theirs);
  }
  return absl::StrCat(text, missed, "\n");
}

// What the samples of the runs do not say: that some were computed in vain.
std::string Discarded(const std::vector<ComparedResult>& results) {
  std::string text;
  for (const auto& [label, run] : results) {
    const int64_t discarded = IntegerField(run, "samples_discarded");
    if (discarded == 0) continue;
    absl::StrAppend(
        &text, label, ": ", discarded, " of ", IntegerField(run, "samples"),
        " samples were discarded: nothing was learned from them.\n");
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
  return absl::StrCat("\n", label,
                      " (gap and staleness: median/99th percentile/maximum)\n",
                      AlignColumns(rows, "  "));
}

std::string ResultsTable(const std::vector<ComparedResult>& results) {
  if (results.empty()) return "";
  std::string text = absl::StrCat(ComparisonTable(results), Conclusion(results),
                                  Discarded(results));
  for (const auto& [label, run] : results) {
    absl::StrAppend(&text, WorkersTable(label, run));
  }
  return text;
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
  return absl::StrCat(Format(NumberField(*field, "p50"), 0), "/",
                      Format(NumberField(*field, "p99"), 0), "/",
                      Format(NumberField(*field, "max"), 0));
}

}  // namespace paceline
