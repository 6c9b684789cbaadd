#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/job/metric_target.h"
#include "common/status.h"
#include "services/cli/admin/admin_commands.h"
#include "services/cli/admin/client.h"
#include "services/cli/admin/job_plot.h"
#include "services/cli/admin/output/job_comparison.h"
#include "services/cli/admin/output/job_curve.h"
#include "services/cli/admin/output/job_view.h"
#include "services/cli/admin/output/tensorboard_file.h"
#include "services/cli/admin/output/training_clock.h"
#include "services/cli/admin/positionals.h"
#include "services/cli/admin/resource_name.h"
#include "services/cli/one_line.h"
#include "services/cli/run_files.h"

namespace paceline {
namespace {

// What was measured on jobs: accuracy, metrics, compare.

struct AccuracyFlags : CommonFlags {
  std::string job;
};

struct MetricsFlags : CommonFlags {
  std::string job;
  std::string tensorboard;
  std::string plot;
};

struct CompareFlags : CommonFlags {
  std::vector<std::string> names;
  std::string target;
};

absl::Status ListAccuracy(Session& session, const AccuracyFlags& flags) {
  v1::ListAccuracyPointsRequest request;
  PACELINE_ASSIGN_OR_RETURN(*request.mutable_parent(),
                            session.JobName(flags.job));
  PACELINE_ASSIGN_OR_RETURN(
      const v1::ListAccuracyPointsResponse response,
      session.List(&JobsApi::ListAccuracyPoints, request));
  if (response.accuracy_points().empty() && session.tabular()) {
    session.Note("the job has not been evaluated yet");
  }
  const auto points = Pointers(response.accuracy_points());
  return session.Print(
      {.messages = {points.begin(), points.end()},
       .whole = &response,
       .table = [&](bool wide) { return AccuracyTable(points, wide); },
       .csv = [&] { return PointsForPrograms(points); }});
}

absl::StatusOr<JobCurve> GetCurve(Session& session, const v1::Job& job) {
  v1::GetJobReportRequest report_of;
  report_of.set_name(job.name());
  PACELINE_ASSIGN_OR_RETURN(const v1::JobReport report,
                            session.Call(&JobsApi::GetJobReport, report_of));
  v1::ListDecisionsRequest decisions_of;
  decisions_of.set_parent(job.name());
  PACELINE_ASSIGN_OR_RETURN(
      const v1::ListDecisionsResponse decided,
      session.List(&JobsApi::ListDecisions, decisions_of));
  return ReadJobCurve(job, report,
                      TrainingClock(job, {decided.decisions().begin(),
                                          decided.decisions().end()}));
}

// "JOB", or "NAMESPACE/JOB" of another namespace than the usual one.
std::string FolderOf(absl::string_view job) {
  const absl::string_view space = NamespaceOf(job);
  return space == "default" ? std::string(LastPart(job))
                            : absl::StrCat(space, "/", LastPart(job));
}

// In a folder of its own below DIR: TensorBoard shows every folder as a run.
// The same name again and again, so that a later export takes the earlier one's
// place.
absl::Status WriteTensorboard(Session& session, const std::string& directory,
                              const JobCurve& curve) {
  const std::string job(LastPart(curve.job));
  const std::string folder = absl::StrCat(directory, "/", FolderOf(curve.job));
  PACELINE_RETURN_IF_ERROR(MakeFolder(folder));
  const absl::Time began =
      curve.times.empty() ? session.console().now() : curve.times.front();
  const std::string path = absl::StrCat(folder, "/events.out.tfevents.0.", job);
  PACELINE_RETURN_IF_ERROR(
      WriteWholeFile(path, TensorboardFile(began, CurveScalars(curve))));
  session.Note(absl::StrCat("wrote ", curve.points.size(), " evaluations to ",
                            path, "; `tensorboard --logdir ", directory,
                            "` shows them"));
  return absl::OkStatus();
}

// The page of `paceline job plot`, if it was asked for.
absl::Status WritePlot(Session& session, const MetricsFlags& flags) {
  if (flags.plot.empty()) return absl::OkStatus();
  PlotFile file;
  PACELINE_RETURN_IF_ERROR(file.Open("--plot", flags.plot));
  PACELINE_ASSIGN_OR_RETURN(Json job, GetDrawnJob(session, flags.job));
  return WriteJobPage(session, {std::move(job)}, {flags.job}, file);
}

absl::Status ShowMetrics(Session& session, const MetricsFlags& flags) {
  v1::GetJobRequest request;
  PACELINE_ASSIGN_OR_RETURN(*request.mutable_name(),
                            session.JobName(flags.job));
  PACELINE_ASSIGN_OR_RETURN(const v1::Job job,
                            session.Call(&JobsApi::GetJob, request));
  PACELINE_ASSIGN_OR_RETURN(const JobCurve curve, GetCurve(session, job));
  if (!flags.tensorboard.empty()) {
    PACELINE_RETURN_IF_ERROR(
        WriteTensorboard(session, flags.tensorboard, curve));
  }
  PACELINE_RETURN_IF_ERROR(WritePlot(session, flags));
  if (curve.points.empty() && session.tabular()) {
    session.Note("the job has not been evaluated yet");
  }
  const Json document = CurveDocument(curve);
  const auto points = [&] {
    std::vector<const v1::AccuracyPoint*> pointers;
    for (const auto& point : curve.points) pointers.push_back(&point);
    return PointsForPrograms(pointers, curve.times);
  };
  return session.Print({.table = nullptr,
                        .csv = points,
                        .document = &document,
                        .text = [&](bool wide, bool headers) {
                          return CurveText(curve, wide, headers);
                        }});
}

absl::StatusOr<ReportedJob> GetReported(Session& session,
                                        const std::string& typed) {
  ReportedJob reported{.label = typed};
  v1::GetJobRequest job_of;
  PACELINE_ASSIGN_OR_RETURN(*job_of.mutable_name(), session.JobName(typed));
  PACELINE_ASSIGN_OR_RETURN(reported.job,
                            session.Call(&JobsApi::GetJob, job_of));
  v1::GetJobReportRequest report_of;
  report_of.set_name(reported.job.name());
  const absl::StatusOr<v1::JobReport> report =
      session.Call(&JobsApi::GetJobReport, report_of);
  // Of one that has not trained there is none: its row has no numbers.
  if (absl::IsFailedPrecondition(report.status())) {
    reported.report = Json::object();
    return reported;
  }
  if (!report.ok()) return report.status();
  reported.report = Json::parse(report->json(), nullptr,
                                /*allow_exceptions=*/false);
  return reported;
}

absl::Status PrintComparison(Session& session,
                             const JobComparison& comparison) {
  if (session.format() == OutputFormat::kCsv) {
    session.Note(ComparisonSentence(comparison));
  }
  const Json document = ComparisonDocument(comparison);
  return session.Print(
      {.table = nullptr,
       .csv = [&] { return ComparisonForPrograms(comparison); },
       .document = &document,
       .text =
           [&](bool wide, bool headers) {
             return absl::StrCat(
                 RenderTable(ComparisonTable(comparison, wide), headers), "\n",
                 OneLine(ComparisonSentence(comparison)), "\n");
           }});
}

ExitCode CompareByName(Session& session, const CompareFlags& flags) {
  std::optional<MetricTarget> target;
  if (!flags.target.empty()) {
    absl::StatusOr<MetricTarget> parsed = ParseMetricTarget(flags.target);
    if (!parsed.ok()) {
      return session.End(
          Annotate(std::move(parsed).status(),
                   absl::StrCat("--target \"", flags.target, "\"")));
    }
    target = *std::move(parsed);
  }
  std::vector<ReportedJob> jobs;
  const ExitCode code =
      session.ForEach(flags.names, [&](const std::string& typed) {
        PACELINE_ASSIGN_OR_RETURN(jobs.emplace_back(),
                                  GetReported(session, typed));
        return absl::OkStatus();
      });
  // One alone is no comparison.
  if (jobs.size() < 2) return code;
  const ExitCode printed =
      session.End(PrintComparison(session, CompareJobs(jobs, target)));
  return code != ExitCode::kSuccess ? code : printed;
}

}  // namespace

void AddJobCurveCommands(CLI::App& job, ChosenCommand& chosen) {
  const auto accuracy = AddCommand<AccuracyFlags>(
      job, "accuracy", "List what the evaluations of a job have measured",
      chosen, &ListAccuracy, {.csv = true});
  AddJobPositional(*accuracy.app, accuracy.flags->job);

  const auto metrics = AddCommand<MetricsFlags>(
      job, "metrics",
      "Show a job's whole curve: evaluations, switches, workers", chosen,
      &ShowMetrics, {.csv = true});
  AddJobPositional(*metrics.app, metrics.flags->job);
  metrics.app
      ->add_option("--tensorboard", metrics.flags->tensorboard,
                   "Also write the evaluations as an event file of "
                   "TensorBoard, in the folder DIR/JOB. Default: no file.")
      ->type_name("DIR");
  metrics.app
      ->add_option("--plot", metrics.flags->plot,
                   "Also write the page of `paceline job plot`. "
                   "Default: no page.")
      ->type_name("FILE");
  metrics.app->footer(R"(
Examples:
  paceline job metrics mnist
  paceline job metrics mnist -o csv > mnist.csv
  paceline job metrics mnist --tensorboard runs && tensorboard --logdir runs)");

  const auto compare = AddCommand<CompareFlags>(
      job, "compare", "Compare jobs: a line each, and who was first", chosen,
      &CompareByName, {.csv = true});
  AddJobPositional(*compare.app, compare.flags->names)
      ->expected(2, CLI::detail::expected_max_vector_size);
  compare.app
      ->add_option("--target", compare.flags->target,
                   "Also compare the seconds of training until this metric "
                   "was reached. METRIC<=VALUE for what is to fall. "
                   "Default: no target.")
      ->type_name("METRIC>=VALUE");
  compare.app->footer(R"(
Example:
  paceline job compare baseline cgp --target 'accuracy>=0.97')");
}

}  // namespace paceline
