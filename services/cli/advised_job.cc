#include "services/cli/advised_job.h"

#include <algorithm>
#include <utility>

#include "common/status.h"
#include "services/cli/admin/client.h"
#include "services/cli/admin/job_trace.h"

namespace paceline {
namespace {

bool IsGiven(const ConnectionFlags& flags) {
  return flags.context.has_value() || flags.insecure_plaintext ||
         std::any_of(
             flags.settings.begin(), flags.settings.end(),
             [](const auto& setting) { return setting.second.has_value(); });
}

absl::Status TakeJob(Session& session, const CLI::App& advise,
                     const AdvisedJobFlags& flags, AdviseFlags& into) {
  if (flags.job.empty()) {
    if (!IsGiven(flags.connection)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "flags of the coordinator need --job: nothing else is asked of it");
  }
  if (!into.trace.empty()) {
    return absl::InvalidArgumentError(
        "--job contradicts --trace: both have the times");
  }
  PACELINE_RETURN_IF_ERROR(session.Configure(flags));
  v1::GetJobRequest request;
  PACELINE_ASSIGN_OR_RETURN(*request.mutable_name(),
                            session.JobName(flags.job));
  PACELINE_ASSIGN_OR_RETURN(const v1::Job job,
                            session.Call(&JobsApi::GetJob, request));
  PACELINE_ASSIGN_OR_RETURN(JobTrace trace,
                            AskJobTrace(session, request.name()));
  session.Note(trace.note);
  into.job_trace = std::move(trace.lines);
  if (advise.get_option("--batch-size")->empty() &&
      job.spec().batch_size() > 0) {
    into.batch_size = job.spec().batch_size();
  }
  return absl::OkStatus();
}

}  // namespace

void AddAdvisedJobFlags(CLI::App& advise, AdvisedJobFlags& flags) {
  advise
      .add_option("--job", flags.job,
                  "Replay the latest iterations of this job, which a "
                  "coordinator is asked for. Default: no job.")
      ->type_name("JOB");
  AddConnectionFlags(advise, flags.connection);
}

ExitCode TakeAdvisedJob(Session& session, const CLI::App& advise,
                        const AdvisedJobFlags& flags, AdviseFlags& into) {
  return session.End(TakeJob(session, advise, flags, into));
}

}  // namespace paceline
