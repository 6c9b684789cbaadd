#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "google/protobuf/util/message_differencer.h"
#include "services/cli/admin/admin_commands.h"
#include "services/cli/admin/client.h"
#include "services/cli/admin/output/job_view.h"
#include "services/cli/admin/resource_name.h"

namespace paceline {
namespace {

// Between two looks at a list that is watched.
constexpr absl::Duration kListInterval = absl::Seconds(2);

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
  std::string order_by = "name";
  int64_t limit = 0;
};

absl::Status PrintJobs(Session& session,
                       const std::vector<const v1::Job*>& jobs,
                       const google::protobuf::Message* whole, bool namespaces,
                       bool headers) {
  return session.Print(
      {.messages = {jobs.begin(), jobs.end()},
       .whole = whole,
       .table =
           [&](bool wide) {
             return JobTable(jobs, {.wide = wide, .namespaces = namespaces},
                             session.console().now());
           }},
      headers);
}

absl::StatusOr<v1::Job> GetJob(Session& session, const std::string& typed) {
  v1::GetJobRequest request;
  PACELINE_ASSIGN_OR_RETURN(*request.mutable_name(),
                            JobName(session.connection().space, typed));
  PACELINE_ASSIGN_OR_RETURN(AdminClient * client, session.Client());
  return client->Call(&JobsApi::GetJob, request);
}

// A line for every change, until the job has ended.
absl::Status WatchRows(Session& session, const std::string& typed) {
  PACELINE_ASSIGN_OR_RETURN(const std::string name,
                            JobName(session.connection().space, typed));
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

ExitCode RunGet(Session& session, const GetFlags& flags) {
  if (flags.watch) {
    if (flags.names.size() > 1) {
      return session.End(
          absl::InvalidArgumentError("--watch is about one job"));
    }
    return session.End(WatchRows(session, flags.names[0]));
  }
  std::vector<v1::Job> jobs;
  const ExitCode code =
      session.ForEach(flags.names, [&](const std::string& typed) {
        PACELINE_ASSIGN_OR_RETURN(v1::Job job, GetJob(session, typed));
        jobs.push_back(std::move(job));
        return absl::OkStatus();
      });
  std::vector<const v1::Job*> found;
  found.reserve(jobs.size());
  for (const v1::Job& job : jobs) found.push_back(&job);
  const ExitCode printed =
      found.empty()
          ? ExitCode::kSuccess
          : session.End(PrintJobs(session, found, nullptr, false, true));
  return code != ExitCode::kSuccess ? code : printed;
}

absl::StatusOr<v1::ListJobsResponse> ListJobs(Session& session,
                                              const JobListFlags& flags) {
  v1::ListJobsRequest request;
  request.set_parent(absl::StrCat(
      "namespaces/", flags.all_namespaces ? "-" : session.connection().space));
  request.set_filter(flags.filter);
  request.set_order_by(flags.order_by);
  PACELINE_ASSIGN_OR_RETURN(AdminClient * client, session.Client());
  return ListAll(
      *client, &JobsApi::ListJobs, request, flags.limit,
      [](v1::ListJobsResponse& page) { return page.mutable_jobs(); });
}

// The jobs whose line has changed since the last look, every two seconds.
absl::Status WatchList(Session& session, const JobListFlags& flags) {
  std::map<std::string, v1::Job> seen;
  bool headers = true;
  for (;;) {
    PACELINE_ASSIGN_OR_RETURN(const v1::ListJobsResponse response,
                              ListJobs(session, flags));
    std::vector<const v1::Job*> changed;
    for (const v1::Job& job : response.jobs()) {
      v1::Job& last = seen[job.name()];
      if (google::protobuf::util::MessageDifferencer::Equals(last, job)) {
        continue;
      }
      last = job;
      changed.push_back(&job);
    }
    if (!changed.empty()) {
      PACELINE_RETURN_IF_ERROR(
          PrintJobs(session, changed, nullptr, flags.all_namespaces, headers));
      headers = false;
    }
    PACELINE_ASSIGN_OR_RETURN(AdminClient * client, session.Client());
    PACELINE_RETURN_IF_ERROR(client->Pause(kListInterval));
  }
}

absl::Status PrintList(Session& session, const JobListFlags& flags) {
  PACELINE_ASSIGN_OR_RETURN(const v1::ListJobsResponse response,
                            ListJobs(session, flags));
  if (response.jobs().empty() && (session.format() == OutputFormat::kTable ||
                                  session.format() == OutputFormat::kWide)) {
    session.Note(flags.all_namespaces
                     ? std::string("there are no such jobs")
                     : absl::StrCat("there are no such jobs in namespace ",
                                    session.connection().space));
  }
  return PrintJobs(session, Pointers(response.jobs()), &response,
                   flags.all_namespaces, true);
}

ExitCode RunList(Session& session, const JobListFlags& flags) {
  if (flags.limit < 0) {
    return session.End(
        absl::InvalidArgumentError("--limit: must not be negative"));
  }
  return session.End(flags.watch ? WatchList(session, flags)
                                 : PrintList(session, flags));
}

absl::StatusOr<std::vector<v1::Decision>> LatestDecisions(
    AdminClient& client, const std::string& job) {
  v1::ListDecisionsRequest request;
  request.set_parent(job);
  PACELINE_ASSIGN_OR_RETURN(const v1::ListDecisionsResponse response,
                            ListAll(client, &JobsApi::ListDecisions, request, 0,
                                    [](v1::ListDecisionsResponse& page) {
                                      return page.mutable_decisions();
                                    }));
  const auto& all = response.decisions();
  const int skipped = std::max(0, all.size() - kDecisionsShown);
  return std::vector<v1::Decision>(all.begin() + skipped, all.end());
}

absl::Status Describe(Session& session, const std::string& typed) {
  PACELINE_ASSIGN_OR_RETURN(const v1::Job job, GetJob(session, typed));
  PACELINE_ASSIGN_OR_RETURN(AdminClient * client, session.Client());
  PACELINE_ASSIGN_OR_RETURN(const std::vector<v1::Decision> decisions,
                            LatestDecisions(*client, job.name()));
  v1::ListCheckpointsRequest request;
  request.set_parent(job.name());
  PACELINE_ASSIGN_OR_RETURN(const v1::ListCheckpointsResponse checkpoints,
                            ListAll(*client, &JobsApi::ListCheckpoints, request,
                                    0, [](v1::ListCheckpointsResponse& page) {
                                      return page.mutable_checkpoints();
                                    }));
  return session.Write(DescribeJob(
      job, decisions,
      {checkpoints.checkpoints().begin(), checkpoints.checkpoints().end()},
      session.console().now()));
}

ExitCode RunDescribe(Session& session, const GetFlags& flags) {
  bool first = true;
  return session.ForEach(flags.names, [&](const std::string& typed) {
    if (!std::exchange(first, false)) {
      PACELINE_RETURN_IF_ERROR(session.Write("\n"));
    }
    return Describe(session, typed);
  });
}

absl::Status Report(Session& session, const std::string& typed) {
  v1::GetJobReportRequest request;
  PACELINE_ASSIGN_OR_RETURN(*request.mutable_name(),
                            JobName(session.connection().space, typed));
  PACELINE_ASSIGN_OR_RETURN(AdminClient * client, session.Client());
  PACELINE_ASSIGN_OR_RETURN(const v1::JobReport report,
                            client->Call(&JobsApi::GetJobReport, request));
  return session.Write(absl::StrCat(report.json(), "\n"));
}

ExitCode RunReport(Session& session, const GetFlags& flags) {
  return session.ForEach(flags.names, [&](const std::string& typed) {
    return Report(session, typed);
  });
}

}  // namespace

void AddJobReadCommands(CLI::App& job, ChosenCommand& chosen) {
  const auto get = AddCommand<GetFlags>(job, "get", "Show jobs by name", chosen,
                                        CommonChoice(), &RunGet);
  get.app->add_option("JOB", get.flags->names)->required();
  get.app->add_flag("-w,--watch", get.flags->watch,
                    "Go on with a line for every change, until it has ended");

  const auto list = AddCommand<JobListFlags>(job, "list", "List jobs", chosen,
                                             CommonChoice(), &RunList);
  list.app->add_flag("-A,--all-namespaces", list.flags->all_namespaces,
                     "Not of one namespace alone");
  list.app->add_flag("-w,--watch", list.flags->watch,
                     "Go on with a line for every change");
  list.app->add_option("--filter", list.flags->filter,
                       "As 'state = RUNNING AND labels.team = \"vision\"'");
  list.app->add_option("--order-by", list.flags->order_by,
                       "As \"create_time desc,name\"; default: by name");
  list.app->add_option("--limit", list.flags->limit, "At most so many; 0: all");

  const auto describe =
      AddCommand<GetFlags>(job, "describe", "Show everything about a job",
                           chosen, {.output = false}, &RunDescribe);
  describe.app->add_option("JOB", describe.flags->names)->required();

  const auto report = AddCommand<GetFlags>(
      job, "report", "Print what was measured on a job's latest run, as JSON",
      chosen, {.output = false}, &RunReport);
  report.app->add_option("JOB", report.flags->names)->required();
}

}  // namespace paceline
