#include "services/cli/admin/output/job_view.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "services/cli/admin/output/format.h"
#include "services/cli/admin/output/table.h"
#include "services/cli/admin/resource_name.h"
#include "services/cli/one_line.h"
#include "services/cli/progress_view.h"

namespace paceline {
namespace {

// With all its parameters in full a paradigm fills more than a line.
constexpr size_t kParadigmWidth = 24;

std::string Accuracy(const v1::JobProgress& progress) {
  return progress.has_accuracy() ? absl::StrFormat("%.4f", progress.accuracy())
                                 : "";
}

std::string Loss(const v1::JobProgress& progress) {
  return progress.has_loss() ? absl::StrFormat("%.4f", progress.loss()) : "";
}

std::string Metrics(const v1::JobProgress& progress) {
  return absl::StrJoin(MetricTexts(progress.metrics()), ", ");
}

std::string Rate(const v1::JobProgress& progress) {
  return progress.samples_per_second() > 0
             ? absl::StrFormat("%.0f", progress.samples_per_second())
             : "";
}

// Of a job that goes on, where it can be told.
std::string TimeLeft(const v1::Job& job) {
  if (IsTerminal(job.state()) || !job.progress().has_seconds_left()) return "";
  return ShortSeconds(job.progress().seconds_left());
}

// "stay: nothing is better by enough: ..." or "cgp:..., 1.8 times as good:
// ...".
std::string AdviceText(const v1::JobProgress& progress,
                       const std::string& batching) {
  const v1::Advice& advice = progress.advice();
  const bool balanced = batching == "balanced";
  if (advice.paradigm() ==
      absl::StrCat(progress.paradigm(), balanced ? ",batching=balanced" : "")) {
    return absl::StrCat("stay: ", advice.reason());
  }
  return absl::StrFormat("%s, %.2g times as good: %s", advice.paradigm(),
                         advice.gain(), advice.reason());
}

// "norm 0.31, noise scale 1240 samples".
std::string NoiseText(const v1::GradientNoise& noise) {
  if (!noise.has_noise_scale()) return "hidden by noise";
  return absl::StrFormat("norm %.2g, noise scale %.0f samples",
                         noise.gradient_norm(), noise.noise_scale());
}

void AppendProgress(const v1::Job& job, bool ended, FieldLines* lines) {
  const v1::JobProgress& progress = job.progress();
  lines->Begin("Progress");
  // The last one it was in says nothing of what has ended.
  if (!ended) lines->Add("Phase", progress.phase());
  if (progress.samples_total() > 0) {
    lines->Add("Samples",
               absl::StrFormat("%d of %d (%s)", progress.samples(),
                               progress.samples_total(), ShareText(progress)));
  }
  if (progress.samples_discarded() > 0) {
    lines->Add(
        "Discarded",
        absl::StrCat(progress.samples_discarded(),
                     " of these samples: nothing was learned from them"));
  }
  lines->Add("Trained for", ShortSeconds(progress.seconds()));
  if (!ended && progress.has_seconds_left()) {
    lines->Add("Time left", ShortSeconds(progress.seconds_left()));
  }
  if (progress.samples_per_second() > 0) {
    lines->Add("Speed", absl::StrCat(Rate(progress), " samples/s"));
  }
  lines->Add("Version", absl::StrCat(progress.version()));
  lines->Add("Paradigm", progress.paradigm());
  if (!ended && progress.has_advice()) {
    lines->Add("Advice", AdviceText(progress, job.spec().batching()));
  }
  lines->Add("Loss", Loss(progress));
  if (progress.has_gradient_noise()) {
    lines->Add("Gradient", NoiseText(progress.gradient_noise()));
  }
  lines->Add("Accuracy", Accuracy(progress));
  lines->Add("Metrics", Metrics(progress));
  if (progress.parameters() > 0) {
    lines->Add("Parameters", absl::StrCat(progress.parameters()));
  }
  lines->End();
}

std::string WorkerRows(const v1::JobProgress& progress) {
  Table table;
  table.headers = {"  WORKER", "STATE",     "CLOCK", "GAP",
                   "WAITED",   "SAMPLES/S", "SCORE", "STRAGGLER"};
  for (const v1::WorkerProgress& worker : progress.workers()) {
    table.rows.push_back({absl::StrCat("  ", worker.worker()), worker.state(),
                          absl::StrCat(worker.clock()),
                          absl::StrCat(worker.gap()),
                          ShortSeconds(worker.wait_seconds()),
                          absl::StrFormat("%.0f", worker.samples_per_second()),
                          absl::StrFormat("%.2f", worker.straggler_score()),
                          worker.straggler() ? "yes" : "no"});
  }
  return RenderTable(table, /*headers=*/true);
}

void AppendSpec(const v1::JobSpec& spec, FieldLines* lines) {
  // The specification has many fields, most of them at their defaults: what is
  // set, as its author wrote it.
  const absl::StatusOr<std::string> yaml = MessageToJobYaml(spec);
  lines->Block("Spec", yaml.ok() ? *yaml : yaml.status().ToString());
}

}  // namespace

Table JobTable(const std::vector<const v1::Job*>& jobs,
               const JobTableOptions& options, absl::Time now) {
  using Job = const v1::Job&;
  std::vector<Column<v1::Job>> columns = {
      {"NAME", [](Job job) { return std::string(LastPart(job.name())); }},
      {"STATE", [](Job job) { return StateText(job.state()); }},
      {"PARADIGM", options.wide ? &ParadigmText : &ShortParadigm},
      {"PROGRESS", [](Job job) { return ShareText(job.progress()); }},
      {"LEFT", [](Job job) { return TimeLeft(job); }},
      {"ACCURACY", [](Job job) { return Accuracy(job.progress()); }},
      {"WORKERS", [](Job job) { return absl::StrCat(WorkersOf(job)); }},
      {"AGE", [&](Job job) { return ShortAge(job.create_time(), now); }},
      {"MODEL", [](Job job) { return job.spec().model(); }, true},
      {"DATA", [](Job job) { return job.spec().data(); }, true},
      {"LOSS", [](Job job) { return Loss(job.progress()); }, true},
      {"METRICS", [](Job job) { return Metrics(job.progress()); }, true},
      {"PRIORITY", [](Job job) { return absl::StrCat(job.spec().priority()); },
       true},
      {"SAMPLES/S", [](Job job) { return Rate(job.progress()); }, true},
      {"REASON", [](Job job) { return job.state_reason(); }, true}};
  if (options.namespaces) {
    columns.insert(columns.begin(),
                   {"NAMESPACE", [](Job job) {
                      return std::string(NamespaceOf(job.name()));
                    }});
  }
  return TableOf(jobs, columns, options.wide);
}

std::string DescribeJob(const v1::Job& job,
                        const std::vector<v1::Decision>& decisions,
                        const std::vector<v1::Checkpoint>& checkpoints,
                        absl::Time now) {
  FieldLines lines;
  lines.Add("Name", LastPart(job.name()));
  lines.Add("Namespace", NamespaceOf(job.name()));
  lines.Add("UID", job.uid());
  lines.Add("Display name", job.display_name());
  lines.AddMap("Labels", job.labels());
  lines.AddMap("Annotations", job.annotations());
  lines.Add("State", StateText(job.state()));
  lines.Add("Reason", job.state_reason());
  lines.AddTime("Created", job.create_time(), now);
  lines.AddTime("Started", job.start_time(), now);
  lines.AddTime("Ended", job.end_time(), now);
  const bool ended = IsTerminal(job.state());
  if (!ended) lines.Add("Goes on from", job.restore_from());
  lines.Add("Etag", job.etag());
  AppendSpec(job.spec(), &lines);
  if (job.has_progress()) {
    AppendProgress(job, ended, &lines);
    lines.Rows(ended ? "Workers of its last run" : "Workers",
               WorkerRows(job.progress()));
  }
  std::vector<const v1::Checkpoint*> listed;
  listed.reserve(checkpoints.size());
  for (const v1::Checkpoint& checkpoint : checkpoints) {
    listed.push_back(&checkpoint);
  }
  lines.Block("Checkpoints",
              RenderTable(CheckpointTable(listed, /*wide=*/false, now), true));
  std::string decided;
  for (const v1::Decision& decision : decisions) {
    absl::StrAppend(&decided, DecisionText(decision), "\n");
  }
  lines.Block("Decisions", decided);
  return lines.text();
}

std::string ParadigmText(const v1::Job& job) {
  // The running one may be another than that of the spec, by a planned switch.
  if (!job.progress().paradigm().empty()) return job.progress().paradigm();
  return job.spec().paradigm().empty() ? "bsp" : job.spec().paradigm();
}

std::string ShortParadigm(const v1::Job& job) {
  const std::string paradigm = ParadigmText(job);
  if (paradigm.size() <= kParadigmWidth) return paradigm;
  return absl::StrCat(paradigm.substr(0, paradigm.find(':')), ":...");
}

int WorkersOf(const v1::Job& job) {
  switch (job.state()) {
    case v1::Job::STARTING:
    case v1::Job::RUNNING:
    case v1::Job::PAUSING:
    case v1::Job::SAVING:
    case v1::Job::CANCELLING:
      // One that was lost or left stays in the list.
      return static_cast<int>(std::ranges::count_if(
          job.progress().workers(), [](const v1::WorkerProgress& worker) {
            return worker.state() != "lost";
          }));
    default:
      return 0;
  }
}

bool IsTerminal(v1::Job::State state) {
  return state == v1::Job::SUCCEEDED || state == v1::Job::FAILED ||
         state == v1::Job::CANCELLED;
}

std::string ShareText(const v1::JobProgress& progress) {
  if (progress.samples_total() <= 0) return "";
  const double share = static_cast<double>(progress.samples()) /
                       static_cast<double>(progress.samples_total());
  // Cut, not rounded: 100% is said of what is done.
  return absl::StrCat(static_cast<int>(100 * std::clamp(share, 0.0, 1.0)), "%");
}

std::string DecisionText(const v1::Decision& decision) {
  const std::string omitted =
      decision.omitted() > 0
          ? absl::StrCat(" (", decision.omitted(), " more like it)")
          : "";
  return OneLine(absl::StrCat(TimeText(decision.time()), "  ",
                              ShortSeconds(decision.seconds()), "  ",
                              decision.worker(), "  ", decision.kind(), "  ",
                              decision.text(), omitted));
}

Table CheckpointTable(const std::vector<const v1::Checkpoint*>& checkpoints,
                      bool wide, absl::Time now) {
  using Checkpoint = const v1::Checkpoint&;
  return TableOf<v1::Checkpoint>(
      checkpoints,
      {{"NAME",
        [](Checkpoint saved) { return std::string(LastPart(saved.name())); }},
       {"JOB",
        [](Checkpoint saved) { return std::string(JobIdOf(saved.name())); }},
       {"STATE", [](Checkpoint saved) { return StateText(saved.state()); }},
       {"VERSION",
        [](Checkpoint saved) { return absl::StrCat(saved.version()); }},
       {"SAMPLES",
        [](Checkpoint saved) { return absl::StrCat(saved.samples()); }},
       {"DISCARDED",
        [](Checkpoint saved) {
          return absl::StrCat(saved.samples_discarded());
        },
        true},
       {"BYTES", [](Checkpoint saved) { return BytesText(saved.bytes()); }},
       {"EXACT", [](Checkpoint saved) { return saved.exact() ? "yes" : "no"; }},
       {"AGE",
        [&](Checkpoint saved) { return ShortAge(saved.create_time(), now); }},
       {"WROTE",
        [](Checkpoint saved) { return ShortSeconds(saved.write_seconds()); },
        true},
       {"SERVERS",
        [](Checkpoint saved) { return absl::StrCat(saved.servers()); }, true},
       {"DIRECTORY", [](Checkpoint saved) { return saved.directory(); }, true},
       {"REASON", [](Checkpoint saved) { return saved.state_reason(); }, true}},
      wide);
}

Table AccuracyTable(const std::vector<const v1::AccuracyPoint*>& points,
                    bool wide) {
  using Point = const v1::AccuracyPoint&;
  const std::vector<Column<v1::AccuracyPoint>> columns = {
      {"SECONDS",
       [](Point point) { return absl::StrFormat("%.1f", point.seconds()); }},
      {"SAMPLES", [](Point point) { return absl::StrCat(point.samples()); }},
      {"DISCARDED",
       [](Point point) { return absl::StrCat(point.samples_discarded()); },
       true},
      {"VERSION", [](Point point) { return absl::StrCat(point.version()); }},
      {"ACCURACY",
       [](Point point) {
         return point.has_accuracy() ? absl::StrFormat("%.4f", point.accuracy())
                                     : "";
       }},
      {"LOSS", [](Point point) {
         return point.has_loss() ? absl::StrFormat("%.4f", point.loss()) : "";
       }}};
  Table table = TableOf(points, columns, wide);
  std::set<std::string> names;
  for (const v1::AccuracyPoint* const point : points) {
    for (const auto& [name, value] : point->metrics()) names.insert(name);
  }
  for (const std::string& name : names) {
    table.headers.push_back(absl::AsciiStrToUpper(name));
    for (size_t i = 0; i < points.size(); ++i) {
      const auto found = points[i]->metrics().find(name);
      table.rows[i].push_back(found == points[i]->metrics().end()
                                  ? ""
                                  : absl::StrFormat("%.6g", found->second));
    }
  }
  return table;
}

std::string StateLine(const v1::Job& job) {
  return OneLine(absl::StrCat("state ", StateText(job.state()),
                              job.state_reason().empty() ? "" : ": ",
                              job.state_reason()));
}

std::string SummaryLine(const v1::Job& job, const std::string& weights) {
  const v1::JobProgress& progress = job.progress();
  std::vector<std::string> parts;
  if (progress.has_accuracy()) {
    parts.push_back(absl::StrCat("accuracy ", Accuracy(progress)));
  }
  if (progress.has_loss()) {
    parts.push_back(absl::StrCat("training loss ", Loss(progress)));
  }
  for (std::string& metric : MetricTexts(progress.metrics())) {
    parts.push_back(std::move(metric));
  }
  parts.push_back(absl::StrCat(progress.samples(), " samples in ",
                               ShortSeconds(progress.seconds()),
                               " of training"));
  // Its state stands alone, so that it can be painted.
  return OneLine(absl::StrCat(LastPart(job.name()), " ", StateText(job.state()),
                              " with ", absl::StrJoin(parts, ", "), "; ",
                              weights));
}

std::string WeightsText(const v1::ListCheckpointsResponse& saved) {
  for (const v1::Checkpoint& checkpoint : saved.checkpoints()) {
    if (checkpoint.state() != v1::Checkpoint::READY) continue;
    return absl::StrCat("weights in ", checkpoint.directory(), " (checkpoint ",
                        LastPart(checkpoint.name()), ")");
  }
  return "no weights are saved";
}

std::string CheckpointLine(const v1::Checkpoint& checkpoint) {
  std::string line = absl::StrCat("checkpoint ", LastPart(checkpoint.name()),
                                  " ", StateText(checkpoint.state()));
  if (checkpoint.state() == v1::Checkpoint::READY) {
    absl::StrAppend(&line, ": version ", checkpoint.version(), ", ",
                    checkpoint.samples(), " samples, ",
                    checkpoint.samples_discarded() > 0
                        ? absl::StrCat(checkpoint.samples_discarded(),
                                       " of them discarded, ")
                        : "",
                    BytesText(checkpoint.bytes()), " in ",
                    ShortSeconds(checkpoint.write_seconds()));
  } else if (!checkpoint.state_reason().empty()) {
    absl::StrAppend(&line, ": ", checkpoint.state_reason());
  }
  return OneLine(line);
}

}  // namespace paceline
