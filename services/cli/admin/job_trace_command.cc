#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status.h"
#include "services/cli/admin/admin_commands.h"
#include "services/cli/admin/client.h"
#include "services/cli/admin/positionals.h"
#include "services/cli/run_files.h"
#include "services/coordinator/run/trace_line.h"

namespace paceline {
namespace {

struct TraceFlags : CommonFlags {
  std::string job;
  std::string file;
};

// What was written, and how much of the job that is.
std::string TraceNote(const v1::ListIterationsResponse& listed, size_t lines,
                      const std::set<std::string>& workers) {
  const v1::Iteration& first = listed.iterations(0);
  std::string note = absl::StrFormat(
      "%d iterations of %d workers, from %.1f to %.1f s of training", lines,
      workers.size(), first.seconds(), listed.iterations().rbegin()->seconds());
  if (first.sequence() > 1) {
    absl::StrAppend(&note, "; the coordinator keeps no earlier ones");
  }
  return note;
}

absl::Status TraceJob(Session& session, const TraceFlags& flags) {
  v1::ListIterationsRequest request;
  PACELINE_ASSIGN_OR_RETURN(*request.mutable_parent(),
                            session.JobName(flags.job));
  PACELINE_ASSIGN_OR_RETURN(const v1::ListIterationsResponse listed,
                            session.List(&JobsApi::ListIterations, request));
  std::string trace;
  std::set<std::string> workers;
  size_t lines = 0;
  for (const v1::Iteration& iteration : listed.iterations()) {
    if (!IsTraced(iteration.discarded(), iteration.samples())) continue;
    absl::StrAppend(&trace,
                    TraceLine(iteration.worker(), iteration.iteration(),
                              iteration.samples(), iteration.phases()),
                    "\n");
    workers.insert(iteration.worker());
    ++lines;
  }
  if (lines == 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "job/", LastPart(request.parent()),
        ": the coordinator knows no iteration of it. It has not trained since "
        "the coordinator started, or many other jobs have since then"));
  }
  if (flags.file.empty()) {
    PACELINE_RETURN_IF_ERROR(session.Write(trace));
  } else {
    PACELINE_RETURN_IF_ERROR(WriteWholeFile(flags.file, trace));
  }
  session.Note(TraceNote(listed, lines, workers));
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
  paceline job trace mnist -o times.jsonl && paceline advise --trace times.jsonl)");
}

}  // namespace paceline
