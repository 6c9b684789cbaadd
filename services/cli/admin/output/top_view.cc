#include "services/cli/admin/output/top_view.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "services/cli/admin/output/job_view.h"
#include "services/cli/admin/output/member_view.h"
#include "services/cli/admin/output/state_color.h"
#include "services/cli/admin/output/table.h"
#include "services/cli/admin/resource_name.h"
#include "services/cli/one_line.h"

namespace paceline {
namespace {

constexpr absl::string_view kBold = "\x1b[1m";
constexpr absl::string_view kYellow = "\x1b[33m";
constexpr absl::string_view kPlain = "\x1b[0m";

// At the end of a straggler's line.
constexpr absl::string_view kStraggler = "STRAGGLER";

void AppendTable(const Table& table, std::vector<std::string>* lines) {
  const std::string text = RenderTable(table, /*headers=*/true);
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    lines->emplace_back(line);
  }
}

std::string CountsLine(const std::vector<const v1::Job*>& jobs,
                       const std::vector<v1::Worker>& workers) {
  const auto count = [&](v1::Worker::State state) {
    return std::count_if(
        workers.begin(), workers.end(),
        [&](const v1::Worker& worker) { return worker.state() == state; });
  };
  const auto running = std::count_if(
      jobs.begin(), jobs.end(),
      [](const v1::Job* job) { return job->state() == v1::Job::RUNNING; });
  const auto counted = [](size_t number, absl::string_view noun) {
    return absl::StrCat(number, " ", noun, number == 1 ? "" : "s");
  };
  return absl::StrCat(counted(jobs.size(), "job"), ", ", running, " running; ",
                      counted(workers.size(), "worker"), ", ",
                      count(v1::Worker::ASSIGNED), " assigned, ",
                      count(v1::Worker::IDLE), " idle, ",
                      count(v1::Worker::DRAINED), " drained");
}

// What is known of the whole job, a line. Where it would be too long, the loss
// and the program's metrics are left out.
std::string FactsLine(const v1::Job& job, size_t width) {
  const v1::JobProgress& progress = job.progress();
  std::vector<std::string> facts = {std::string(LastPart(job.name())),
                                    StateText(job.state()), ShortParadigm(job),
                                    ShareText(progress)};
  if (progress.has_accuracy()) {
    facts.push_back(absl::StrFormat("accuracy %.4f", progress.accuracy()));
  }
  std::vector<std::string> less = facts;
  if (progress.has_loss()) {
    facts.push_back(absl::StrFormat("loss %.4f", progress.loss()));
  }
  for (std::string& metric : MetricTexts(progress.metrics())) {
    facts.push_back(std::move(metric));
  }
  for (std::vector<std::string>* line : {&facts, &less}) {
    line->push_back(
        absl::StrFormat("%.0f samples/s", progress.samples_per_second()));
    if (progress.has_seconds_left()) {
      line->push_back(
          absl::StrCat("left ", ShortSeconds(progress.seconds_left())));
    }
    std::erase(*line, "");
  }
  const std::string whole = OneLine(absl::StrJoin(facts, "  "));
  return whole.size() <= width ? whole : OneLine(absl::StrJoin(less, "  "));
}

}  // namespace

std::vector<std::string> ClusterTop(const std::vector<v1::Job>& jobs,
                                    const std::vector<v1::Worker>& workers,
                                    absl::Time now, size_t width) {
  std::vector<const v1::Job*> active;
  for (const v1::Job& job : jobs) {
    if (!IsTerminal(job.state())) active.push_back(&job);
  }
  std::ranges::stable_sort(active, NaturalLess, &v1::Job::name);
  std::vector<std::string> lines = {CountsLine(active, workers)};
  if (!active.empty()) {
    lines.emplace_back();
    Table table;
    table.headers = {"NAMESPACE", "JOB",  "STATE",     "PARADIGM", "PROGRESS",
                     "ACCURACY",  "LOSS", "SAMPLES/S", "WORKERS",  "LEFT"};
    for (const v1::Job* job : active) {
      const v1::JobProgress& progress = job->progress();
      table.rows.push_back(
          {std::string(NamespaceOf(job->name())),
           std::string(LastPart(job->name())), StateText(job->state()),
           ShortParadigm(*job), ShareText(progress),
           progress.has_accuracy()
               ? absl::StrFormat("%.4f", progress.accuracy())
               : "",
           progress.has_loss() ? absl::StrFormat("%.4f", progress.loss()) : "",
           absl::StrFormat("%.0f", progress.samples_per_second()),
           absl::StrCat(WorkersOf(*job)),
           progress.has_seconds_left() ? ShortSeconds(progress.seconds_left())
                                       : ""});
    }
    AppendTable(FitTable(std::move(table), width,
                         {"NAMESPACE", "LOSS", "STATE", "ACCURACY"}),
                &lines);
  }
  if (!workers.empty()) {
    lines.emplace_back();
    std::vector<const v1::Worker*> sorted;
    sorted.reserve(workers.size());
    for (const v1::Worker& worker : workers) sorted.push_back(&worker);
    std::ranges::stable_sort(sorted, NaturalLess, &v1::Worker::name);
    Table table = WorkerTable(sorted, /*wide=*/false, now);
    table.headers.emplace_back("NOTE");
    for (size_t i = 0; i < sorted.size(); ++i) {
      table.rows[i].emplace_back(sorted[i]->straggler() ? kStraggler : "-");
    }
    AppendTable(
        FitTable(std::move(table), width, {"AGE", "PROGRAMS", "POOL", "GPU"}),
        &lines);
  }
  return lines;
}

std::vector<std::string> JobTop(const v1::Job& job, size_t width) {
  const v1::JobProgress& progress = job.progress();
  std::vector<std::string> lines = {FactsLine(job, width)};
  if (!job.state_reason().empty()) {
    lines.push_back(OneLine(job.state_reason()));
  }
  std::vector<const v1::WorkerProgress*> sorted(
      progress.workers().pointer_begin(), progress.workers().pointer_end());
  std::ranges::stable_sort(sorted, std::greater(),
                           &v1::WorkerProgress::straggler_score);
  if (sorted.empty()) return lines;
  lines.emplace_back();
  Table table;
  table.headers = {"WORKER",    "STATE",  "CLOCK", "GAP", "ITERATIONS",
                   "SAMPLES/S", "WAITED", "SCORE", "NOTE"};
  for (const v1::WorkerProgress* worker : sorted) {
    table.rows.push_back(
        {worker->worker(), worker->state(), absl::StrCat(worker->clock()),
         absl::StrCat(worker->gap()), absl::StrCat(worker->iterations()),
         absl::StrFormat("%.0f", worker->samples_per_second()),
         ShortSeconds(worker->wait_seconds()),
         absl::StrFormat("%.2f", worker->straggler_score()),
         std::string(worker->straggler() ? kStraggler : "-")});
  }
  AppendTable(
      FitTable(std::move(table), width, {"CLOCK", "ITERATIONS", "STATE"}),
      &lines);
  return lines;
}

std::vector<std::string> FitTop(std::vector<std::string> lines,
                                const ViewOptions& options) {
  const size_t height = static_cast<size_t>(std::max(options.height, 1));
  const size_t width = static_cast<size_t>(std::max(options.width, 1));
  if (lines.size() > height) {
    const size_t hidden = lines.size() - height + 1;
    lines.resize(height - 1);
    lines.push_back(absl::StrCat("and ", hidden, " more lines"));
  }
  bool heading = true;
  for (std::string& line : lines) {
    const bool straggler = absl::EndsWith(line, kStraggler);
    const bool bold = std::exchange(heading, line.empty());
    if (line.size() > width) line.resize(width);
    if (!options.color || line.empty()) continue;
    if (bold) {
      line = absl::StrCat(kBold, PaintStates(line, kBold), kPlain);
    } else if (straggler) {
      line = absl::StrCat(kYellow, line, kPlain);
    } else {
      line = PaintStates(line);
    }
  }
  return lines;
}

}  // namespace paceline
