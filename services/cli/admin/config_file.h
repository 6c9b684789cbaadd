#ifndef PACELINE_SERVICES_CLI_ADMIN_CONFIG_FILE_H_
#define PACELINE_SERVICES_CLI_ADMIN_CONFIG_FILE_H_

#include <functional>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

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

// INVALID_ARGUMENT for a value with control characters.
absl::Status CheckSettingValue(absl::string_view setting,
                               absl::string_view value);

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

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_CONFIG_FILE_H_
