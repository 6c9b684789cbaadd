#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "services/cli/admin/admin_commands.h"
#include "services/cli/admin/client.h"
#include "services/cli/admin/job_selection.h"
#include "services/cli/admin/output/job_view.h"
#include "services/cli/admin/positionals.h"

namespace paceline {
namespace {

// In a description; `paceline job logs` has all.
constexpr int kDecisionsShown = 20;

struct GetFlags : CommonFlags {
  std::vector<std::string> names;
  bool watch = false;
};

struct JobListFlags : CommonFlags {
  bool all_namespaces = false;
  bool watch = false;
  std::string filter;
  std::string state;
  std::string labels;
  std::string order_by = "name";
  int64_t limit = 0;
};

absl::Status PrintJobs(Session& session,
                       const std::vector<const v1::Job*>& jobs,
                       const google::protobuf::Message* whole, bool namespaces,
                       bool headers) {
  const auto table = [&](const auto& rows, bool wide, absl::Time now) {
    return JobTable(rows, {.wide = wide, .namespaces = namespaces}, now);
  };
  return session.PrintAll(jobs, whole, table, headers);
}

absl::StatusOr<v1::Job> GetJob(Session& session, const std::string& typed) {
  v1::GetJobRequest request;
  PACELINE_ASSIGN_OR_RETURN(*request.mutable_name(), session.JobName(typed));
  return session.Call(&JobsApi::GetJob, request);
}

// A line for every change, until the job has ended.
absl::Status WatchRows(Session& session, const std::string& typed) {
  PACELINE_ASSIGN_OR_RETURN(const std::string name, session.JobName(typed));
  PACELINE_ASSIGN_OR_RETURN(AdminClient * client, session.Client());
  JobWatcher watcher(client, name);
  bool headers = true;
  for (;;) {
    PACELINE_ASSIGN_OR_RETURN(const auto event,
                              watcher.Next(absl::InfiniteFuture()));
    if (!event.has_value()) return absl::OkStatus();
    if (!event->has_job()) continue;
    PACELINE_RETURN_IF_ERROR(PrintJobs(session, {&event->job()}, nullptr,
                                       /*namespaces=*/false, headers));
    headers = false;
  }
}

ExitCode GetJobs(Session& session, const GetFlags& flags) {
  if (flags.watch) {
    return session.End(
        flags.names.size() > 1
            ? absl::InvalidArgumentError("--watch is about one job")
            : WatchRows(session, flags.names[0]));
  }
  return PrintEach(
      session, flags.names,
      [&](const std::string& typed) { return GetJob(session, typed); },
      [&](const std::vector<const v1::Job*>& jobs) {
        return PrintJobs(session, jobs, nullptr, /*namespaces=*/false,
                         /*headers=*/true);
      });
}

absl::Status ListJobs(Session& session, const JobListFlags& flags) {
  if (flags.limit < 0) {
    return absl::InvalidArgumentError("--limit: must not be negative");
  }
  v1::ListJobsRequest request;
  request.set_parent(absl::StrCat(
      "namespaces/", flags.all_namespaces ? "-" : session.connection().space));
  PACELINE_ASSIGN_OR_RETURN(
      *request.mutable_filter(),
      SelectJobs(flags.filter, flags.state, flags.labels));
  request.set_order_by(flags.order_by);
  const auto list = [&] {
    return session.List(&JobsApi::ListJobs, request, flags.limit);
  };
  if (flags.watch) {
    return WatchChanges(
        session, list,
        [&](const std::vector<const v1::Job*>& changed, bool headers) {
          return PrintJobs(session, changed, nullptr, flags.all_namespaces,
                           headers);
        });
  }
  PACELINE_ASSIGN_OR_RETURN(const v1::ListJobsResponse response, list());
  if (response.jobs().empty() && session.tabular()) {
    session.Note(flags.all_namespaces
                     ? std::string("there are no such jobs")
                     : absl::StrCat("there are no such jobs in namespace ",
                                    session.connection().space));
  }
  return PrintJobs(session, Pointers(response.jobs()), &response,
                   flags.all_namespaces, /*headers=*/true);
}

absl::Status DescribeByName(Session& session, const std::string& typed) {
  PACELINE_ASSIGN_OR_RETURN(const v1::Job job, GetJob(session, typed));
  v1::ListDecisionsRequest decisions_of;
  decisions_of.set_parent(job.name());
  PACELINE_ASSIGN_OR_RETURN(
      const v1::ListDecisionsResponse decided,
      session.List(&JobsApi::ListDecisions, decisions_of));
  const auto& all = decided.decisions();
  const int skipped = std::max(0, all.size() - kDecisionsShown);
  v1::ListCheckpointsRequest checkpoints_of;
  checkpoints_of.set_parent(job.name());
  PACELINE_ASSIGN_OR_RETURN(
      const v1::ListCheckpointsResponse saved,
      session.List(&JobsApi::ListCheckpoints, checkpoints_of));
  return session.Write(
      DescribeJob(job, {all.begin() + skipped, all.end()},
                  {saved.checkpoints().begin(), saved.checkpoints().end()},
                  session.console().now()));
}

ExitCode DescribeJobs(Session& session, const GetFlags& flags) {
  bool first = true;
  return session.ForEach(flags.names, [&](const std::string& typed) {
    if (!std::exchange(first, false)) {
      PACELINE_RETURN_IF_ERROR(session.Write("\n"));
    }
    return DescribeByName(session, typed);
  });
}

absl::Status ReportJob(Session& session, const GetFlags& /*flags*/,
                       const std::string& typed) {
  v1::GetJobReportRequest request;
  PACELINE_ASSIGN_OR_RETURN(*request.mutable_name(), session.JobName(typed));
  PACELINE_ASSIGN_OR_RETURN(const v1::JobReport report,
                            session.Call(&JobsApi::GetJobReport, request));
  return session.Write(absl::StrCat(report.json(), "\n"));
}

}  // namespace

void AddJobReadCommands(CLI::App& job, ChosenCommand& chosen) {
  const auto get =
      AddCommand<GetFlags>(job, "get", "Show jobs by name", chosen, &GetJobs);
  AddJobPositional(*get.app, get.flags->names);
  get.app->add_flag("-w,--watch", get.flags->watch,
                    "Go on with a line for every change, until the job has "
                    "ended. For one job.");

  const auto list =
      AddCommand<JobListFlags>(job, "list", "List jobs", chosen, &ListJobs);
  list.app->add_flag("-A,--all-namespaces", list.flags->all_namespaces,
                     "List the jobs of all namespaces. Default: those of -n.");
  list.app->add_flag("-w,--watch", list.flags->watch,
                     "Go on with a line for every change, until you end it.");
  list.app
      ->add_option("--filter", list.flags->filter,
                   "List only jobs that match, as 'state = RUNNING AND "
                   "labels.team = \"vision\"'. Default: all.")
      ->type_name("FILTER");
  list.app
      ->add_option("--state", list.flags->state,
                   "List only jobs in this state, as running. Default: all.")
      ->type_name("STATE");
  list.app
      ->add_option("-l,--labels", list.flags->labels,
                   "List only jobs with these labels, as team=vision. "
                   "Default: all.")
      ->type_name("LABELS");
  list.app
      ->add_option("--order-by", list.flags->order_by,
                   "Fields to sort by, as 'accuracy desc,name'. There are "
                   "create_time, update_time, name, state, accuracy.")
      ->type_name("FIELDS")
      ->capture_default_str();
  list.app
      ->add_option("--limit", list.flags->limit,
                   "List at most so many jobs. 0: all.")
      ->type_name("N")
      ->capture_default_str();

  const auto describe =
      AddCommand<GetFlags>(job, "describe", "Show everything about a job",
                           chosen, &DescribeJobs, {.output = false});
  AddJobPositional(*describe.app, describe.flags->names);

  const auto report = AddCommand<GetFlags>(
      job, "report", "Print what was measured on all runs of a job, as JSON",
      chosen, &ReportJob, {.output = false});
  AddJobPositional(*report.app, report.flags->names);
}

}  // namespace paceline
