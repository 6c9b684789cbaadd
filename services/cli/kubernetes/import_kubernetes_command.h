#ifndef PACELINE_SERVICES_CLI_KUBERNETES_IMPORT_KUBERNETES_COMMAND_H_
#define PACELINE_SERVICES_CLI_KUBERNETES_IMPORT_KUBERNETES_COMMAND_H_

#include "CLI/CLI.hpp"
#include "services/cli/admin/session.h"

namespace paceline {

// `paceline config import-kubernetes`, to `config` of `root`: makes a context
// of a release of the chart, with the certificate of its administrator.
void AddImportKubernetesCommand(CLI::App& root, ChosenCommand& chosen);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_KUBERNETES_IMPORT_KUBERNETES_COMMAND_H_
