#include <string>
#include <utility>
#include <vector>

#include "common/status.h"
#include "services/cli/admin/admin_commands.h"
#include "services/cli/admin/job_plot.h"
#include "services/cli/admin/positionals.h"

namespace paceline {
namespace {

struct PlotFlags : CommonFlags {
  std::vector<std::string> names;
  std::string file;
};

ExitCode PlotJobs(Session& session, const PlotFlags& flags) {
  PlotFile file;
  if (const absl::Status opened = file.Open("--out", flags.file);
      !opened.ok()) {
    return session.End(opened);
  }
  std::vector<Json> jobs;
  const ExitCode code =
      session.ForEach(flags.names, [&](const std::string& typed) {
        PACELINE_ASSIGN_OR_RETURN(Json job, GetDrawnJob(session, typed));
        jobs.push_back(std::move(job));
        return absl::OkStatus();
      });
  if (jobs.empty()) return code;
  const ExitCode written =
      session.End(WriteJobPage(session, std::move(jobs), flags.names, file));
  return code != ExitCode::kSuccess ? code : written;
}

}  // namespace

void AddJobPlotCommand(CLI::App& job, ChosenCommand& chosen) {
  const auto plot = AddCommand<PlotFlags>(
      job, "plot",
      "Write a web page of jobs: curves, a lane for each worker, a table",
      chosen, &PlotJobs, {.output = false});
  AddJobPositional(*plot.app, plot.flags->names);
  plot.app
      ->add_option("-o,--out", plot.flags->file,
                   "The page to write. It needs no network and no other file.")
      ->type_name("FILE")
      ->required();
  plot.app->footer(R"(
The jobs may run or have ended. The lanes show the latest iterations that the
coordinator still knows.

Example:
  paceline job plot baseline cgp -o page.html)");
}

}  // namespace paceline
