#ifndef PACELINE_SERVICES_CLI_ADMIN_CONNECTION_H_
#define PACELINE_SERVICES_CLI_ADMIN_CONNECTION_H_

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace paceline {

// What the names of settings are in flags ("--address"), in the environment
// ("PACELINE_ADDRESS") and in a context of the config file ("address").
inline constexpr absl::string_view kSettingNames[] = {
    "address",        "namespace",       "tls-ca",     "tls-cert",
    "tls-key",        "tls-server-name", "token-file", "insecure-plaintext",
    "request-timeout"};

// Settings that are given, by name.
using Settings = std::map<std::string, std::string>;

// The config file:
//
//   current-context: lab
//   contexts:
//     lab:
//       address: coordinator.lab:7070
//       namespace: vision
//       tls-ca: lab-ca.pem       # From the config file's folder on.
//       token-file: lab.token
struct ConfigFile {
  std::string current_context;
  std::map<std::string, Settings> contexts;
};

// INVALID_ARGUMENT for what is no name of a context: empty, longer than 128
// bytes, or with control characters.
absl::Status CheckContextName(absl::string_view name);

// Whether the setting is the path of a file.
bool IsPathSetting(absl::string_view setting);

// INVALID_ARGUMENT for a value with control characters.
absl::Status CheckSettingValue(absl::string_view setting,
                               absl::string_view value);

// "lab, home": the contexts of a file; empty if there are none.
std::string ContextNames(const ConfigFile& config);

// INVALID_ARGUMENT with the line, for what is no YAML, unknown keys and the
// like. An empty text is an empty file.
absl::StatusOr<ConfigFile> ParseConfigFile(absl::string_view text);

std::string FormatConfigFile(const ConfigFile& config);

// PACELINE_CONFIG, else paceline/config.yaml in XDG_CONFIG_HOME or in
// ~/.config. Empty if none of them is set.
std::string ConfigFilePath(
    const std::function<std::string(const char*)>& environment);

// The file at `path`, an empty one if there is none. Paths of files in it are
// absolute, or as seen from here.
absl::StatusOr<ConfigFile> ReadConfigFile(const std::string& path);

// As ReadConfigFile(), with paths as they were written: for changing it.
absl::StatusOr<ConfigFile> ReadConfigFileVerbatim(const std::string& path);

// Beside and renamed, readable by this user alone. PERMISSION_DENIED or
// FAILED_PRECONDITION with what the system says.
absl::Status WriteConfigFile(const std::string& path, const ConfigFile& config);

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
  std::string address;            // CoordinatorAddresses; empty: none named.
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
