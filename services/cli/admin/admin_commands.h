#ifndef PACELINE_SERVICES_CLI_ADMIN_ADMIN_COMMANDS_H_
#define PACELINE_SERVICES_CLI_ADMIN_ADMIN_COMMANDS_H_

#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "services/cli/admin/connection.h"
#include "services/cli/admin/session.h"

namespace paceline {

// Adds all commands that talk to a coordinator (job, worker, server,
// coordinator, checkpoint, top, audit), `config`, `completion` and `version` to
// the `paceline` command. After parsing, the result says whether one of them
// was chosen and runs it. It must outlive `app`'s parsing.
std::unique_ptr<ChosenCommand> AddAdminCommands(CLI::App& app, Console console);

// `paceline checkpoint`.
void AddCheckpointCommands(CLI::App& root, ChosenCommand& chosen);
// `paceline checkpoint download`, to `checkpoint`.
void AddCheckpointDownloadCommand(CLI::App& checkpoint, ChosenCommand& chosen);

// `paceline completion`, and the hidden `paceline __complete` that its scripts
// call: the words that could follow, one a line, or ":files".
void AddCompletionCommands(CLI::App& root, ChosenCommand& chosen);

// `paceline config`: the contexts of the config file.
void AddConfigCommands(CLI::App& root, ChosenCommand& chosen);

// As `paceline config set-context`, which says so.
absl::Status SetContext(Session& session, const std::string& name,
                        const ConnectionFlags& connection);

// As `paceline job watch` of a job, by its full name, does: until it has ended.
absl::Status WatchJob(Session& session, const std::string& name);

// Each adds its commands to `paceline job`.
void AddJobCreateCommand(CLI::App& job, ChosenCommand& chosen);
void AddJobReadCommands(CLI::App& job, ChosenCommand& chosen);
void AddJobChangeCommands(CLI::App& job, ChosenCommand& chosen);
void AddJobFollowCommands(CLI::App& job, ChosenCommand& chosen);
void AddJobCurveCommands(CLI::App& job, ChosenCommand& chosen);
void AddJobPlotCommand(CLI::App& job, ChosenCommand& chosen);
void AddJobTraceCommand(CLI::App& job, ChosenCommand& chosen);
void AddJobWatchCommand(CLI::App& job, ChosenCommand& chosen);

// Each adds its noun to `paceline`: `coordinator`, `worker`, `server`, `audit`.
void AddCoordinatorCommands(CLI::App& root, ChosenCommand& chosen);
void AddWorkerCommands(CLI::App& root, ChosenCommand& chosen);
void AddServerCommands(CLI::App& root, ChosenCommand& chosen);
void AddAuditCommands(CLI::App& root, ChosenCommand& chosen);

// `paceline worker logs` and `paceline server logs`, to those nouns.
void AddWorkerLogsCommand(CLI::App& worker, ChosenCommand& chosen);
void AddServerLogsCommand(CLI::App& server, ChosenCommand& chosen);

// `paceline worker manifest`, to `worker`.
void AddManifestCommand(CLI::App& worker, ChosenCommand& chosen);

// `paceline top`.
void AddTopCommand(CLI::App& root, ChosenCommand& chosen);

// `paceline version`: of this program, and of the coordinator if one is named
// and answers.
void AddVersionCommand(CLI::App& root, ChosenCommand& chosen);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_ADMIN_COMMANDS_H_
