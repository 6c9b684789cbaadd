#include "services/cli/admin/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/job/duration.h"
#include "common/status.h"
#include "common/unique_fd.h"
#include "services/cli/admin/console.h"
#include "services/cli/admin/output/format.h"
#include "services/cli/progress_printer.h"
#include "yaml-cpp/yaml.h"

namespace paceline {
namespace {

constexpr size_t kBytesMax = size_t{1} << 20;

// Written as a YAML key, which may have no more than 1024 characters, a name
// becomes longer by its quotes and escapes.
constexpr size_t kContextNameMax = 128;

absl::Status WrongLine(const YAML::Node& node, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("line ", node.Mark().line + 1, ": ", what));
}

bool HasControls(absl::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_iscntrl(static_cast<unsigned char>(c));
  });
}

bool IsSetting(absl::string_view name) {
  return std::find(std::begin(kSettingNames), std::end(kSettingNames), name) !=
         std::end(kSettingNames);
}

absl::StatusOr<Settings> ParseContext(const YAML::Node& node) {
  if (!node.IsMap()) return WrongLine(node, "a context has settings");
  Settings settings;
  for (const auto& entry : node) {
    const std::string& name = entry.first.Scalar();
    if (!IsSetting(name)) {
      return WrongLine(entry.first,
                       absl::StrCat("\"", name, "\" is no setting; there are ",
                                    absl::StrJoin(kSettingNames, ", ")));
    }
    if (!entry.second.IsScalar()) {
      return WrongLine(entry.second, absl::StrCat(name, " is a text"));
    }
    const std::string& value = entry.second.Scalar();
    const absl::Status sound = CheckSettingValue(name, value);
    if (!sound.ok()) return WrongLine(entry.second, sound.message());
    settings[name] = value;
  }
  return settings;
}

absl::StatusOr<ConfigFile> ParseRoot(const YAML::Node& root) {
  ConfigFile config;
  if (root.IsNull()) return config;
  if (!root.IsMap()) {
    return WrongLine(root, "expected current-context and contexts");
  }
  for (const auto& entry : root) {
    const std::string& key = entry.first.Scalar();
    if (key == "current-context" && entry.second.IsScalar()) {
      config.current_context = entry.second.Scalar();
      if (config.current_context.empty()) continue;
      const absl::Status named = CheckContextName(config.current_context);
      if (!named.ok()) return WrongLine(entry.second, named.message());
    } else if (key == "contexts" && entry.second.IsMap()) {
      for (const auto& context : entry.second) {
        const std::string& name = context.first.Scalar();
        const absl::Status named = CheckContextName(name);
        if (!named.ok()) return WrongLine(context.first, named.message());
        PACELINE_ASSIGN_OR_RETURN(config.contexts[name],
                                  ParseContext(context.second));
      }
    } else {
      return WrongLine(entry.first,
                       absl::StrCat("\"", key,
                                    "\": expected current-context: NAME or "
                                    "contexts: {NAME: {...}}"));
    }
  }
  return config;
}

absl::Status SystemError(absl::string_view doing) {
  const std::string text = absl::StrCat(doing, ": ", strerror(errno));
  return errno == EACCES || errno == EPERM
             ? absl::PermissionDeniedError(text)
             : absl::FailedPreconditionError(text);
}

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
  const std::string names = ContextNames(config);
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
        connection.request_timeout,
        ParseDuration("--request-timeout", settings["request-timeout"],
                      absl::Milliseconds(1), absl::Hours(24)));
  }
  return connection;
}

}  // namespace

absl::Status CheckContextName(absl::string_view name) {
  if (!HasControls(name) && !name.empty() && name.size() <= kContextNameMax) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("a context's name has 1 to ", kContextNameMax,
                   " bytes and no control characters"));
}

bool IsPathSetting(absl::string_view setting) {
  return setting == "tls-ca" || setting == "tls-cert" || setting == "tls-key" ||
         setting == "token-file";
}

std::string ContextNames(const ConfigFile& config) {
  return absl::StrJoin(config.contexts, ", ",
                       [](std::string* out, const auto& context) {
                         absl::StrAppend(out, context.first);
                       });
}

absl::Status CheckSettingValue(absl::string_view setting,
                               absl::string_view value) {
  if (!HasControls(value)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(setting, " has control characters"));
}

absl::StatusOr<ConfigFile> ParseConfigFile(absl::string_view text) {
  // The YAML library makes other characters of it.
  if (const size_t at = text.find('\0'); at != text.npos) {
    return absl::InvalidArgumentError(absl::StrCat(
        "line ", std::count(text.begin(), text.begin() + at, '\n') + 1,
        ": a zero byte is no text"));
  }
  // The YAML library throws; nothing of that leaves here.
  try {
    return ParseRoot(YAML::Load(std::string(text)));
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("line ", error.mark.line + 1, ": ", error.msg));
  }
}

std::string FormatConfigFile(const ConfigFile& config) {
  Json document = Json::object();
  if (!config.current_context.empty()) {
    document["current-context"] = config.current_context;
  }
  document["contexts"] = Json::object();
  for (const auto& [name, settings] : config.contexts) {
    Json& context = document["contexts"][name] = Json::object();
    for (const auto& [setting, value] : settings) context[setting] = value;
  }
  return YamlText(document);
}

std::string ConfigFilePath(
    const std::function<std::string(const char*)>& environment) {
  if (std::string path = environment("PACELINE_CONFIG"); !path.empty()) {
    return path;
  }
  if (const std::string home = environment("XDG_CONFIG_HOME"); !home.empty()) {
    return absl::StrCat(home, "/paceline/config.yaml");
  }
  const std::string home = environment("HOME");
  return home.empty() ? ""
                      : absl::StrCat(home, "/.config/paceline/config.yaml");
}

absl::StatusOr<ConfigFile> ReadConfigFileVerbatim(const std::string& path) {
  if (path.empty()) return ConfigFile();
  const absl::StatusOr<std::string> text = ReadTextFile(path, kBytesMax);
  if (absl::IsNotFound(text.status())) return ConfigFile();
  PACELINE_RETURN_IF_ERROR(text.status());
  return Annotate(ParseConfigFile(*text), path);
}

absl::StatusOr<ConfigFile> ReadConfigFile(const std::string& path) {
  PACELINE_ASSIGN_OR_RETURN(ConfigFile config, ReadConfigFileVerbatim(path));
  const std::filesystem::path folder =
      std::filesystem::path(path).parent_path();
  for (auto& [name, settings] : config.contexts) {
    for (auto& [setting, value] : settings) {
      // An absolute path stays what it is, and so does none.
      if (IsPathSetting(setting) && !value.empty())
        value = (folder / value).string();
    }
  }
  return config;
}

absl::Status WriteConfigFile(const std::string& path,
                             const ConfigFile& config) {
  if (path.empty()) {
    return absl::FailedPreconditionError(
        "there is no place for a config file: set PACELINE_CONFIG or HOME");
  }
  std::error_code error;
  const auto folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  const std::string beside = absl::StrCat(path, ".tmp-", getpid());
  UniqueFd file(
      open(beside.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600));
  if (!file.valid()) return SystemError(absl::StrCat("write ", beside));
  if (!WriteAll(file.get(), FormatConfigFile(config)) ||
      fsync(file.get()) != 0 || rename(beside.c_str(), path.c_str()) != 0) {
    const absl::Status failed = SystemError(absl::StrCat("write ", path));
    unlink(beside.c_str());
    return failed;
  }
  return absl::OkStatus();
}

void AddConnectionFlags(CLI::App& command, ConnectionFlags& flags) {
  command
      .add_option("--context", flags.context,
                  "Context of the config file to use. Default: "
                  "PACELINE_CONTEXT, or the current one.")
      ->group(kGroup)
      ->type_name("CONTEXT");
  const auto add = [&](const std::string& names, const char* setting,
                       const char* placeholder, const char* help) {
    command.add_option(names, flags.settings[setting], help)
        ->group(kGroup)
        ->type_name(placeholder);
  };
  add("--address", "address", "HOST:PORT",
      "Address of the coordinator; of two, with a comma between them. Default: "
      "PACELINE_ADDRESS, or the context's.");
  add("-n,--namespace", "namespace", "NAMESPACE",
      "Namespace of jobs. Default: PACELINE_NAMESPACE, the context's, or the "
      "namespace `default`.");
  add("--tls-ca", "tls-ca", "FILE",
      "Certificates of the authorities to trust, as PEM. Default: "
      "PACELINE_TLS_CA, or the context's.");
  add("--tls-cert", "tls-cert", "FILE",
      "Your certificate, as PEM. Default: PACELINE_TLS_CERT, or the "
      "context's.");
  add("--tls-key", "tls-key", "FILE",
      "The key of your certificate, as PEM. Default: PACELINE_TLS_KEY, or the "
      "context's.");
  add("--tls-server-name", "tls-server-name", "NAME",
      "Name that the coordinator's certificate must have. Default: the host of "
      "the address.");
  add("--token-file", "token-file", "FILE",
      "File with your bearer token. Default: PACELINE_TOKEN_FILE, or the "
      "context's.");
  add("--request-timeout", "request-timeout", "DURATION",
      "Time that one request may take, with all its retries. Default: 30s; 5s "
      "for coordinator list, 3s for version.");
  command
      .add_flag("--insecure-plaintext", flags.insecure_plaintext,
                "Talk to other machines without TLS. Default: only to this "
                "machine.")
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
