#include <string>

#include "common/status.h"
#include "services/cli/admin/admin_commands.h"
#include "services/cli/admin/job_trace.h"
#include "services/cli/admin/positionals.h"
#include "services/cli/run_files.h"

namespace paceline {
namespace {

struct TraceFlags : CommonFlags {
  std::string job;
  std::string file;
};

absl::Status TraceJob(Session& session, const TraceFlags& flags) {
  PACELINE_ASSIGN_OR_RETURN(const std::string name, session.JobName(flags.job));
  PACELINE_ASSIGN_OR_RETURN(const JobTrace trace, AskJobTrace(session, name));
  if (flags.file.empty()) {
    PACELINE_RETURN_IF_ERROR(session.Write(trace.lines));
  } else {
    PACELINE_RETURN_IF_ERROR(WriteWholeFile(flags.file, trace.lines));
  }
  session.Note(trace.note);
  return absl::OkStatus();
}

}  // namespace

void AddJobTraceCommand(CLI::App& job, ChosenCommand& chosen) {
  const auto trace = AddCommand<TraceFlags>(
      job, "trace",
      "Write the times of a job's latest iterations, for `paceline advise`",
      chosen, &TraceJob, {.output = false});
  AddJobPositional(*trace.app, trace.flags->job);
  trace.app
      ->add_option("-o,--out", trace.flags->file,
                   "The file to write. Default: standard output.")
      ->type_name("FILE");
  trace.app->footer(R"(
The coordinator keeps the latest 16,384 iterations of a job. It keeps them in
memory, while the job runs and for the last 32 jobs that have run.

Example:
  paceline job trace mnist -o times.jsonl && paceline advise --trace times.jsonl
`paceline advise --job mnist` does both without the file.)");
}

}  // namespace paceline
