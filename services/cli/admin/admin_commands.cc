#include "services/cli/admin/admin_commands.h"

#include <utility>

namespace paceline {

std::unique_ptr<ChosenCommand> AddAdminCommands(CLI::App& app,
                                                Console console) {
  auto chosen = std::make_unique<ChosenCommand>(std::move(console));
  CLI::App& job = *app.add_subcommand("job", "Training jobs on a cluster");
  job.require_subcommand(1);
  AddJobCreateCommand(job, *chosen);
  AddJobReadCommands(job, *chosen);
  AddJobCurveCommands(job, *chosen);
  AddJobPlotCommand(job, *chosen);
  AddJobTraceCommand(job, *chosen);
  AddJobWatchCommand(job, *chosen);
  AddJobFollowCommands(job, *chosen);
  AddJobChangeCommands(job, *chosen);
  AddCheckpointCommands(app, *chosen);
  AddWorkerCommands(app, *chosen);
  AddServerCommands(app, *chosen);
  AddCoordinatorCommands(app, *chosen);
  AddTopCommand(app, *chosen);
  AddAuditCommands(app, *chosen);
  AddConfigCommands(app, *chosen);
  AddCompletionCommands(app, *chosen);
  AddVersionCommand(app, *chosen);
  return chosen;
}

}  // namespace paceline
