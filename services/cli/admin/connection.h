#ifndef PACELINE_SERVICES_CLI_ADMIN_CONNECTION_H_
#define PACELINE_SERVICES_CLI_ADMIN_CONNECTION_H_

#include <functional>
#include <optional>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/cli/admin/config_file.h"

namespace paceline {

// What the flags say about the cluster to talk to.
struct ConnectionFlags {
  std::optional<std::string> context;
  // As typed; the others of the same names are flags too.
  std::map<std::string, std::optional<std::string>> settings;
  bool insecure_plaintext = false;
};

// All of them; with `space` also -n.
void AddConnectionFlags(CLI::App& command, ConnectionFlags& flags);

// Whom to talk to, and how.
struct Connection {
  std::string address;            // "host:port"; empty: none was named.
  std::string space = "default";  // The namespace.
  bool space_given = false;       // By a flag.
  std::string tls_ca;             // Files; empty: none.
  std::string tls_cert;
  std::string tls_key;
  std::string tls_server_name;
  std::string token_file;
  bool insecure_plaintext = false;
  absl::Duration request_timeout = absl::Seconds(30);
};

// Each setting from the first that has it: the flags, the environment
// (PACELINE_ADDRESS and so on), the context of the config file. The context is
// that of --context, of PACELINE_CONTEXT, or the file's current one. Pure.
// NOT_FOUND for a context that does not exist, INVALID_ARGUMENT for a value
// that is wrong.
absl::StatusOr<Connection> ResolveConnection(
    const ConnectionFlags& flags,
    const std::function<std::string(const char*)>& environment,
    const ConfigFile& config);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_CONNECTION_H_
