#include "services/cli/results_table.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/check.h"

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

bool AnyReachedTarget(const std::vector<Json>& runs) {
  for (const Json& run : runs) {
    if (NumberField(run, "seconds_to_target").has_value()) return true;
  }
  return false;
}

std::string ComparisonTable(const std::vector<Json>& runs) {
  const bool to_target = AnyReachedTarget(runs);
  std::vector<Row> rows = {{"PARADIGM", "SECONDS", "ACCURACY", "TO TARGET",
                            "SPEED-UP", "SAMPLES/S", "UPDATES"}};
  for (const Json& run : runs) {
    rows.push_back(
        {TextField(run, "paradigm"), Format(NumberField(run, "seconds"), 2),
         Format(NumberField(run, "final_accuracy"), 4),
         Format(NumberField(run, "seconds_to_target"), 2),
         SpeedUp(run, runs.front(), to_target), SamplesPerSecond(run),
         absl::StrCat(IntegerField(run, "updates"))});
  }
  return AlignColumns(rows, "");
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
std::string Conclusion(const std::vector<Json>& runs) {
  const bool to_target = AnyReachedTarget(runs);
  const Json* soonest = nullptr;
  std::string missed;
  for (const Json& run : runs) {
    const std::optional<double> seconds = Compared(run, to_target);
    if (seconds.has_value() &&
        (soonest == nullptr || *seconds < *Compared(*soonest, to_target))) {
      soonest = &run;
    }
    if (to_target && !seconds.has_value()) {
      absl::StrAppend(&missed, "\n", TextField(run, "paradigm"),
                      " did not reach the target accuracy.");
    }
  }
  if (runs.size() < 2 || soonest == nullptr) return "";
  const Json& first = runs.front();
  const std::string winner = TextField(*soonest, "paradigm");
  const std::string base = TextField(first, "paradigm");
  const std::string speed_up = SpeedUp(*soonest, first, to_target);
  const std::string did = to_target ? "reached the target accuracy" : "ended";
  std::string text;
  if (soonest == &first) {
    text = absl::StrCat("\nNo other run ", did, " sooner than ", base, ".");
  } else if (speed_up == kUnknown) {
    text = absl::StrCat("\n", winner, " ", did, " the soonest.");
  } else {
    text = absl::StrCat(
        "\n", winner, " ", did, " ", speed_up, " as soon as ", base, ": after ",
        Format(Compared(*soonest, to_target), 2), " s instead of ",
        Format(Compared(first, to_target), 2), " s.");
  }
  const std::optional<double> mine = WaitShare(*soonest);
  const std::optional<double> theirs = WaitShare(first);
  if (soonest != &first && mine.has_value() && theirs.has_value()) {
    absl::StrAppendFormat(&text,
                          "\nIts workers waited for each other %.0f%% of their "
                          "time, those of %s %.0f%%.",
                          100 * *mine, base, 100 * *theirs);
  }
  return absl::StrCat(text, missed, "\n");
}

// "1/4/5": median, 99th percentile and maximum.
std::string Distribution(const Json& worker, absl::string_view name) {
  const Json* field = FindField(worker, name);
  if (field == nullptr) return kUnknown;
  return absl::StrCat(Format(NumberField(*field, "p50"), 0), "/",
                      Format(NumberField(*field, "p99"), 0), "/",
                      Format(NumberField(*field, "max"), 0));
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

std::string WorkersTable(const Json& run) {
  const Json* workers = FindField(run, "workers");
  if (workers == nullptr || !workers->is_array() || workers->empty()) return "";
  std::vector<Row> rows = {{"WORKER", "ITERATIONS", "SAMPLES", "COMPUTE",
                            "WAIT", "PUSH", "PULL", "LOAD", "GAP",
                            "STALENESS"}};
  for (const Json& worker : *workers) rows.push_back(WorkerRow(worker));
  return absl::StrCat("\n", TextField(run, "paradigm"),
                      " (gap and staleness: median/99th percentile/maximum)\n",
                      AlignColumns(rows, "  "));
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

std::string ResultsTable(const std::vector<Json>& runs) {
  if (runs.empty()) return "";
  std::string text = absl::StrCat(ComparisonTable(runs), Conclusion(runs));
  for (const Json& run : runs) absl::StrAppend(&text, WorkersTable(run));
  return text;
}

}  // namespace paceline
