#ifndef PACELINE_SERVICES_CLI_CERTIFICATES_CERTIFICATE_COMMANDS_H_
#define PACELINE_SERVICES_CLI_CERTIFICATES_CERTIFICATE_COMMANDS_H_

#include "CLI/CLI.hpp"
#include "services/cli/admin/session.h"

namespace paceline {

// `paceline certificate ensure|remove-secrets`: the certificates of a whole
// cluster, in a folder or in the secrets of a Kubernetes namespace
// (docs/security.md).
void AddCertificateCommands(CLI::App& root, ChosenCommand& chosen);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_CERTIFICATES_CERTIFICATE_COMMANDS_H_
