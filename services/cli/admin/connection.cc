#include "services/cli/admin/connection.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/status.h"
#include "services/cli/flag_values.h"

namespace paceline {
namespace {

constexpr char kGroup[] = "Connection";

// "PACELINE_TLS_CA" of "tls-ca".
std::string VariableOf(absl::string_view setting) {
  return absl::StrCat("PACELINE_", absl::AsciiStrToUpper(absl::StrReplaceAll(
                                       setting, {{"-", "_"}})));
}

// The chosen context's settings; none if none is chosen.
absl::StatusOr<Settings> ChosenContext(
    const ConnectionFlags& flags,
    const std::function<std::string(const char*)>& environment,
    const ConfigFile& config) {
  std::string name = flags.context.value_or("");
  absl::string_view by = "--context ";
  if (!flags.context.has_value()) {
    name = environment("PACELINE_CONTEXT");
    by = "PACELINE_CONTEXT=";
    if (name.empty()) {
      name = config.current_context;
      by = "current-context: ";
    }
    if (name.empty()) return Settings();
  }
  const auto found = config.contexts.find(name);
  if (found != config.contexts.end()) return found->second;
  const std::string names = absl::StrJoin(
      config.contexts, ", ", [](std::string* out, const auto& context) {
        absl::StrAppend(out, context.first);
      });
  return absl::NotFoundError(absl::StrCat(
      by, name, ": the config file has no such context; ",
      names.empty() ? "it has none" : absl::StrCat("it has ", names)));
}

absl::StatusOr<bool> ParseBool(absl::string_view setting,
                               absl::string_view text) {
  if (text.empty() || absl::EqualsIgnoreCase(text, "false") || text == "0") {
    return false;
  }
  if (absl::EqualsIgnoreCase(text, "true") || text == "1") return true;
  return absl::InvalidArgumentError(
      absl::StrCat(setting, " \"", text, "\": must be true or false"));
}

absl::StatusOr<Connection> FromSettings(Settings& settings) {
  Connection connection;
  connection.address = settings["address"];
  if (!settings["namespace"].empty()) {
    connection.space = settings["namespace"];
  }
  if (absl::StrContains(connection.space, '/')) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--namespace ", connection.space, ": is a name without slashes"));
  }
  connection.tls_ca = settings["tls-ca"];
  connection.tls_cert = settings["tls-cert"];
  connection.tls_key = settings["tls-key"];
  connection.tls_server_name = settings["tls-server-name"];
  connection.token_file = settings["token-file"];
  if (connection.tls_cert.empty() != connection.tls_key.empty()) {
    return absl::InvalidArgumentError(
        "--tls-cert and --tls-key need each other");
  }
  PACELINE_ASSIGN_OR_RETURN(
      connection.insecure_plaintext,
      ParseBool("--insecure-plaintext", settings["insecure-plaintext"]));
  if (!settings["request-timeout"].empty()) {
    PACELINE_ASSIGN_OR_RETURN(
        const int64_t nanos,
        ParseNanos("--request-timeout", settings["request-timeout"], 1'000'000,
                   int64_t{24} * 3600 * 1'000'000'000));
    connection.request_timeout = absl::Nanoseconds(nanos);
  }
  return connection;
}

}  // namespace

void AddConnectionFlags(CLI::App& command, ConnectionFlags& flags) {
  command
      .add_option("--context", flags.context,
                  "Of the config file, or PACELINE_CONTEXT")
      ->group(kGroup);
  const auto add = [&](const std::string& names, const char* setting,
                       const char* help) {
    command.add_option(names, flags.settings[setting], help)->group(kGroup);
  };
  add("--address", "address",
      "host:port of the coordinator, or PACELINE_ADDRESS");
  add("-n,--namespace", "namespace", "Of jobs, or PACELINE_NAMESPACE");
  add("--tls-ca", "tls-ca", "File of the certificates to trust");
  add("--tls-cert", "tls-cert", "File of the own certificate");
  add("--tls-key", "tls-key", "File of its key");
  add("--tls-server-name", "tls-server-name",
      "The name in the coordinator's certificate, where it is not the host's");
  add("--token-file", "token-file", "File of the own bearer token");
  add("--request-timeout", "request-timeout",
      "What one request may take, retries included; 30s");
  command
      .add_flag("--insecure-plaintext", flags.insecure_plaintext,
                "Talk to other machines without TLS")
      ->group(kGroup);
}

absl::StatusOr<Connection> ResolveConnection(
    const ConnectionFlags& flags,
    const std::function<std::string(const char*)>& environment,
    const ConfigFile& config) {
  PACELINE_ASSIGN_OR_RETURN(Settings settings,
                            ChosenContext(flags, environment, config));
  for (absl::string_view setting : kSettingNames) {
    const std::string name(setting);
    const std::string variable = environment(VariableOf(setting).c_str());
    if (!variable.empty()) settings[name] = variable;
    const auto flag = flags.settings.find(name);
    if (flag != flags.settings.end() && flag->second.has_value()) {
      settings[name] = *flag->second;
    }
  }
  if (flags.insecure_plaintext) settings["insecure-plaintext"] = "true";
  PACELINE_ASSIGN_OR_RETURN(Connection connection, FromSettings(settings));
  const auto space = flags.settings.find("namespace");
  connection.space_given =
      space != flags.settings.end() && space->second.has_value();
  return connection;
}

}  // namespace paceline
