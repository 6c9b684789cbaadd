#include "services/cli/progress_view.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "services/cli/one_line.h"

namespace paceline {
namespace {

constexpr absl::string_view kGreen = "\x1b[32m";
constexpr absl::string_view kYellow = "\x1b[33m";
constexpr absl::string_view kRed = "\x1b[31m";
constexpr absl::string_view kPlain = "\x1b[0m";

// Accuracy, loss and other metrics that a line has room for.
constexpr size_t kMeasuresMost = 4;

double ShareDone(const v1::JobProgress& progress) {
  if (progress.samples_total() <= 0) return 0;
  const double share = static_cast<double>(progress.samples()) /
                       static_cast<double>(progress.samples_total());
  return std::clamp(share, 0.0, 1.0);
}

// The measures of the run that are known so far.
std::string Measures(const v1::JobProgress& progress, double max_seconds) {
  std::vector<std::string> parts;
  if (progress.has_accuracy()) {
    parts.push_back(absl::StrFormat("accuracy %.3f", progress.accuracy()));
  }
  if (progress.has_loss()) {
    parts.push_back(absl::StrFormat("loss %.3f", progress.loss()));
  }
  for (const std::string& metric : MetricTexts(progress.metrics())) {
    if (parts.size() == kMeasuresMost) break;
    parts.push_back(metric);
  }
  parts.push_back(
      absl::StrFormat("%.0f samples/s", progress.samples_per_second()));
  if (progress.samples_discarded() > 0) {
    parts.push_back(
        absl::StrCat(progress.samples_discarded(), " samples discarded"));
  }
  if (const auto left = SecondsLeft(progress, max_seconds); left.has_value()) {
    parts.push_back(absl::StrCat("left ", ShortSeconds(*left)));
  }
  return absl::StrJoin(parts, "  ");
}

absl::string_view ColorOf(absl::string_view state) {
  if (state == "lost") return kRed;
  if (state == "waiting") return kYellow;
  if (state == "computing") return kGreen;
  return "";
}

// Our own text is ASCII, and the names that peers choose are shown as such, so
// bytes are columns.
std::string Fit(std::string line, int width) {
  const size_t columns = static_cast<size_t>(std::max(width, 1));
  if (line.size() > columns) line.resize(columns);
  return line;
}

// One that is longer is not easier to read.
constexpr int kBarWidthMax = 80;

std::string Bar(double share, int width) {
  const int filled = static_cast<int>(std::lround(share * width));
  return absl::StrCat("[", std::string(static_cast<size_t>(filled), '#'),
                      std::string(static_cast<size_t>(width - filled), '.'),
                      "]");
}

std::string RunLine(const v1::JobProgress& progress, absl::string_view label,
                    const ViewOptions& options) {
  const double share = ShareDone(progress);
  // A bar that stands still must say why.
  const std::string before =
      progress.phase().empty() || progress.phase() == "training"
          ? std::string(label)
          : absl::StrCat(label, " ", OneLine(progress.phase()));
  const std::string after = absl::StrFormat(
      " %3.0f %%  %s", 100 * share, Measures(progress, options.max_seconds));
  // What is left of the line beside a blank and the brackets, but no bar that
  // says nothing.
  const int room =
      options.width - 3 - static_cast<int>(before.size() + after.size());
  const int bar_width = std::min(room, kBarWidthMax);
  const std::string bar =
      bar_width >= 5 ? absl::StrCat(" ", Bar(share, bar_width)) : "";
  return Fit(absl::StrCat(before, bar, after), options.width);
}

std::string WorkerLine(const v1::WorkerProgress& worker,
                       const ViewOptions& options) {
  const std::string line =
      Fit(absl::StrFormat("  %-4s %-9s  clock %6d  gap %3d  waited %s%s",
                          OneLine(worker.worker()), OneLine(worker.state()),
                          worker.clock(), worker.gap(),
                          ShortSeconds(worker.wait_seconds()),
                          worker.straggler() ? "  STRAGGLER" : ""),
          options.width);
  const absl::string_view color = ColorOf(worker.state());
  if (!options.color || color.empty()) return line;
  return absl::StrCat(color, line, kPlain);
}

}  // namespace

std::optional<double> SecondsLeft(const v1::JobProgress& progress,
                                  double max_seconds) {
  std::optional<double> left;
  // An evaluation ends when it ends.
  if (progress.phase() == "evaluating") return left;
  if (progress.samples_per_second() > 0 && progress.samples_total() > 0) {
    // As doubles: the difference of what a peer says may not fit an integer.
    const double samples = static_cast<double>(progress.samples_total()) -
                           static_cast<double>(progress.samples());
    left = std::max(0.0, samples) / progress.samples_per_second();
  }
  if (max_seconds > 0) {
    const double limit = std::max(0.0, max_seconds - progress.seconds());
    left = std::min(left.value_or(limit), limit);
  }
  return left;
}

std::string ShortSeconds(double seconds) {
  if (!std::isfinite(seconds) || seconds > 1e9) return "?";
  if (seconds < 1) return absl::StrFormat("%.2f s", seconds);
  if (seconds < 100) return absl::StrFormat("%.1f s", seconds);
  const int64_t whole = std::llround(seconds);
  if (whole < 3600) {
    return absl::StrFormat("%d min %02d s", whole / 60, whole % 60);
  }
  return absl::StrFormat("%d h %02d min", whole / 3600, whole / 60 % 60);
}

std::string PlainProgress(const v1::JobProgress& progress, double max_seconds) {
  std::string line = absl::StrFormat(
      "%.1f s  %s  %.0f %%  %d/%d samples  %s", progress.seconds(),
      progress.phase(), 100 * ShareDone(progress), progress.samples(),
      progress.samples_total(), Measures(progress, max_seconds));
  for (const v1::WorkerProgress& worker : progress.workers()) {
    absl::StrAppend(&line, " | ", worker.worker(), " ", worker.state(),
                    " clock ", worker.clock(), " gap ", worker.gap(),
                    " waited ", ShortSeconds(worker.wait_seconds()));
  }
  return OneLine(line);
}

std::vector<std::string> TerminalProgress(const v1::JobProgress& progress,
                                          absl::string_view label,
                                          const ViewOptions& options) {
  std::vector<std::string> lines = {RunLine(progress, label, options)};
  int left = options.height - 1;
  if (options.details && left > 0) {
    --left;
    lines.push_back(Fit(
        OneLine(absl::StrFormat("  %d of %d samples  %s", progress.samples(),
                                progress.samples_total(), progress.paradigm())),
        options.width));
  }
  // More lines than the terminal has could not be redrawn.
  const size_t room = static_cast<size_t>(std::max(left, 0));
  const size_t count = static_cast<size_t>(progress.workers_size());
  const size_t shown = count <= room ? count : std::max<size_t>(room, 1) - 1;
  for (size_t i = 0; i < shown; ++i) {
    lines.push_back(WorkerLine(progress.workers(static_cast<int>(i)), options));
  }
  if (shown < count && room > 0) {
    lines.push_back(
        Fit(absl::StrCat("  and ", count - shown, " more"), options.width));
  }
  return lines;
}

std::vector<std::string> MetricTexts(
    const google::protobuf::Map<std::string, double>& metrics) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : metrics) {
    texts.push_back(absl::StrFormat("%s %.4g", OneLine(name), value));
  }
  std::sort(texts.begin(), texts.end());  // A map has no order.
  return texts;
}

std::string EvaluatedLine(const v1::AccuracyPoint& point) {
  std::vector<std::string> parts;
  if (point.has_accuracy()) {
    parts.push_back(absl::StrFormat("accuracy %.4f", point.accuracy()));
  }
  if (point.has_loss()) {
    parts.push_back(absl::StrFormat("loss %.3f", point.loss()));
  }
  for (std::string& metric : MetricTexts(point.metrics())) {
    parts.push_back(std::move(metric));
  }
  return absl::StrFormat("%.1f s  evaluated version %d (%d samples): %s",
                         point.seconds(), point.version(), point.samples(),
                         absl::StrJoin(parts, ", "));
}

std::string DecisionLine(const v1::Decision& decision) {
  return OneLine(absl::StrFormat("%.1f s  %s: %s", decision.seconds(),
                                 decision.worker(), decision.text()));
}

}  // namespace paceline
