#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "common/status.h"
#include "services/cli/admin/admin_commands.h"
#include "services/cli/admin/client.h"
#include "services/cli/admin/output/top_view.h"
#include "services/cli/admin/positionals.h"
#include "services/cli/admin/typed_keys.h"
#include "services/cli/flag_values.h"

namespace paceline {
namespace {

struct TopFlags : CommonFlags {
  std::string job;
  std::string interval = "2s";
  bool once = false;
};

using Lines = std::vector<std::string>;

absl::StatusOr<Lines> LookAtJob(Session& session, const std::string& typed,
                                size_t width) {
  v1::GetJobRequest request;
  PACELINE_ASSIGN_OR_RETURN(*request.mutable_name(), session.JobName(typed));
  PACELINE_ASSIGN_OR_RETURN(const v1::Job job,
                            session.Call(&JobsApi::GetJob, request));
  return JobTop(job, width);
}

// Shows the jobs of all namespaces, because workers are everybody's.
absl::StatusOr<Lines> LookAtCluster(Session& session, size_t width) {
  v1::ListJobsRequest request;
  request.set_parent("namespaces/-");
  // Those that have ended may be thousands.
  request.set_filter(
      "state != SUCCEEDED AND state != FAILED AND state != CANCELLED");
  request.set_order_by("name");
  PACELINE_ASSIGN_OR_RETURN(const v1::ListJobsResponse jobs,
                            session.List(&JobsApi::ListJobs, request));
  PACELINE_ASSIGN_OR_RETURN(
      const v1::ListWorkersResponse workers,
      session.List(&ClusterApi::ListWorkers, v1::ListWorkersRequest()));
  return ClusterTop({jobs.jobs().begin(), jobs.jobs().end()},
                    {workers.workers().begin(), workers.workers().end()},
                    session.console().now(), width);
}

absl::StatusOr<Lines> Look(Session& session, const TopFlags& flags,
                           size_t width = kAnyWidth) {
  return flags.job.empty() ? LookAtCluster(session, width)
                           : LookAtJob(session, flags.job, width);
}

// Whether to look again after `pause`: until somebody types q, or interrupts
// it.
absl::StatusOr<bool> LookAgain(AdminClient& client, TypedKeys* keys,
                               absl::Duration pause) {
  const absl::Time until = absl::Now() + pause;
  if (keys == nullptr) {
    PACELINE_RETURN_IF_ERROR(client.Pause(pause));
    return true;
  }
  while (const auto key = keys->Next(until, client.interruption())) {
    if (*key == 'q' || *key == 'Q') return false;
  }
  PACELINE_RETURN_IF_ERROR(client.Pause(absl::ZeroDuration()));
  return true;
}

absl::Status ShowTop(Session& session, const TopFlags& flags) {
  PACELINE_ASSIGN_OR_RETURN(
      const int64_t nanos, ParseNanos("--interval", flags.interval, 100'000'000,
                                      int64_t{3600} * 1'000'000'000));
  PACELINE_ASSIGN_OR_RETURN(AdminClient * client, session.Client());
  const ProgressOutput& output = session.console().progress;
  if (flags.once || !output.terminal) {
    PACELINE_ASSIGN_OR_RETURN(const Lines lines, Look(session, flags));
    return session.Write(absl::StrCat(absl::StrJoin(lines, "\n"), "\n"));
  }
  const std::unique_ptr<TypedKeys> keys = session.console().open_keys();
  for (bool again = true; again;) {
    // The last column and row stay free, as for the bars of a run.
    const TerminalSize size = output.size();
    const int width = size.columns - 1;
    PACELINE_ASSIGN_OR_RETURN(
        Lines lines,
        Look(session, flags, static_cast<size_t>(std::max(width, 1))));
    if (keys != nullptr) absl::StrAppend(&lines[0], "; q quits");
    lines = FitTop(
        std::move(lines),
        {.width = width, .height = size.rows - 1, .color = output.color});
    // One write, or it would flicker: home, each line with its rest erased,
    // and all that is below.
    PACELINE_RETURN_IF_ERROR(session.Write(absl::StrCat(
        "\x1b[H", absl::StrJoin(lines, "\x1b[K\n"), "\x1b[K\n\x1b[J")));
    PACELINE_ASSIGN_OR_RETURN(
        again, LookAgain(*client, keys.get(), absl::Nanoseconds(nanos)));
  }
  return absl::OkStatus();
}

}  // namespace

void AddTopCommand(CLI::App& root, ChosenCommand& chosen) {
  const auto top = AddCommand<TopFlags>(
      root, "top",
      "Show jobs and workers, or one job's workers, as they change", chosen,
      &ShowTop, {.output = false});
  AddJobPositional(*top.app, top.flags->job)
      ->required(false)
      ->description(
          "Show only this job and its workers. Default: all jobs and workers.");
  top.app
      ->add_option("--interval", top.flags->interval,
                   "Time between two looks, from 100ms to 1h.")
      ->type_name("DURATION")
      ->capture_default_str();
  top.app->add_flag("--once", top.flags->once,
                    "Print one look and end. Default: only where the output is "
                    "no terminal.");
  top.app->footer("\nKeys: q quits.");
}

}  // namespace paceline
