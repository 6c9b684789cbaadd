#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "services/cli/admin/admin_commands.h"
#include "services/cli/admin/connection.h"
#include "services/cli/admin/output/table.h"

namespace paceline {
namespace {

struct NoFlags {};

struct NameFlags {
  std::string name;
};

struct SetFlags {
  std::string name;
  ConnectionFlags connection;
};

std::string PathOf(const Session& session) {
  return ConfigFilePath(session.console().environment);
}

absl::StatusOr<ConfigFile> Read(const Session& session) {
  return ReadConfigFileVerbatim(PathOf(session));
}

absl::Status NoContext(const ConfigFile& config, absl::string_view name) {
  const std::string names = ContextNames(config);
  return absl::NotFoundError(
      absl::StrCat("there is no context ", name, "; there ",
                   names.empty() ? "is none" : absl::StrCat("are ", names)));
}

absl::Status GetContexts(Session& session, const NoFlags&) {
  PACELINE_ASSIGN_OR_RETURN(const ConfigFile config, Read(session));
  Table table;
  table.headers = {"CURRENT", "NAME", "ADDRESS", "NAMESPACE"};
  for (const auto& [name, settings] : config.contexts) {
    const auto value = [&settings = settings](const char* setting) {
      const auto found = settings.find(setting);
      return found == settings.end() ? std::string() : found->second;
    };
    table.rows.push_back({name == config.current_context ? "*" : "-", name,
                          value("address"), value("namespace")});
  }
  if (table.rows.empty()) session.Note("there are no contexts");
  return session.Write(RenderTable(table, /*headers=*/true));
}

absl::Status ViewConfig(Session& session, const NoFlags&) {
  PACELINE_ASSIGN_OR_RETURN(const ConfigFile config, Read(session));
  session.Note(PathOf(session));
  return session.Write(FormatConfigFile(config));
}

absl::Status CurrentContext(Session& session, const NoFlags&) {
  PACELINE_ASSIGN_OR_RETURN(const ConfigFile config, Read(session));
  if (config.current_context.empty()) {
    return absl::NotFoundError(
        "no context is current: choose one with `paceline config use-context "
        "NAME`");
  }
  return session.Write(absl::StrCat(config.current_context, "\n"));
}

absl::Status UseContext(Session& session, const NameFlags& flags) {
  PACELINE_ASSIGN_OR_RETURN(ConfigFile config, Read(session));
  if (!config.contexts.contains(flags.name)) {
    return NoContext(config, flags.name);
  }
  config.current_context = flags.name;
  PACELINE_RETURN_IF_ERROR(WriteConfigFile(PathOf(session), config));
  return session.Write(absl::StrCat("current context is ", flags.name, "\n"));
}

absl::Status DeleteContext(Session& session, const NameFlags& flags) {
  PACELINE_ASSIGN_OR_RETURN(ConfigFile config, Read(session));
  if (config.contexts.erase(flags.name) == 0) {
    return NoContext(config, flags.name);
  }
  if (config.current_context == flags.name) config.current_context.clear();
  PACELINE_RETURN_IF_ERROR(WriteConfigFile(PathOf(session), config));
  return session.Write(absl::StrCat("context ", flags.name, " deleted\n"));
}

// The file would otherwise mean another file when it is used elsewhere.
std::string Absolute(const std::string& setting, const std::string& value) {
  std::error_code ignored;
  return IsPathSetting(setting) && !value.empty()
             ? std::filesystem::absolute(value, ignored).string()
             : value;
}

void AddContextPositional(CLI::App& command, std::string& name) {
  command.add_option("CONTEXT", name, "The name of the context.")
      ->type_name("")
      ->required();
}

}  // namespace

absl::Status SetContext(Session& session, const std::string& name,
                        const ConnectionFlags& connection) {
  PACELINE_RETURN_IF_ERROR(CheckContextName(name));
  PACELINE_ASSIGN_OR_RETURN(ConfigFile config, Read(session));
  const bool is_new = !config.contexts.contains(name);
  Settings& settings = config.contexts[name];
  for (const auto& [setting, value] : connection.settings) {
    if (!value.has_value()) continue;
    PACELINE_RETURN_IF_ERROR(CheckSettingValue(setting, *value));
    // An empty value takes the setting away.
    if (value->empty()) {
      settings.erase(setting);
    } else {
      settings[setting] = Absolute(setting, *value);
    }
  }
  if (connection.insecure_plaintext) {
    settings["insecure-plaintext"] = "true";
  }
  // What cannot be used is not written.
  ConnectionFlags check;
  check.context = name;
  PACELINE_RETURN_IF_ERROR(ResolveConnection(
                               check, [](const char*) { return ""; }, config)
                               .status());
  // Whoever makes the first one means to use it.
  const bool is_first = is_new && config.contexts.size() == 1;
  if (is_first) config.current_context = name;
  PACELINE_RETURN_IF_ERROR(WriteConfigFile(PathOf(session), config));
  return session.Write(absl::StrCat("context ", name,
                                    is_new ? " created" : " changed",
                                    is_first ? ", it is current\n" : "\n"));
}

void AddConfigCommands(CLI::App& root, ChosenCommand& chosen) {
  CLI::App& config = *root.add_subcommand(
      "config", "Contexts: coordinators and how to reach them");
  config.require_subcommand(1);
  config.footer(
      "\nThe config file is PACELINE_CONFIG, or "
      "~/.config/paceline/config.yaml.");
  AddPlainCommand<NoFlags>(config, "get-contexts", "List contexts", chosen,
                           &GetContexts);
  AddPlainCommand<NoFlags>(config, "view", "Print the config file", chosen,
                           &ViewConfig);
  AddPlainCommand<NoFlags>(config, "current-context",
                           "Print the current context's name", chosen,
                           &CurrentContext);
  const auto use = AddPlainCommand<NameFlags>(config, "use-context",
                                              "Make a context the current one",
                                              chosen, &UseContext);
  AddContextPositional(*use.app, use.flags->name);
  const auto set = AddPlainCommand<SetFlags>(
      config, "set-context", "Make a context, or change what is given", chosen,
      [](Session& session, const SetFlags& flags) {
        return SetContext(session, flags.name, flags.connection);
      });
  AddContextPositional(*set.app, set.flags->name);
  AddConnectionFlags(*set.app, set.flags->connection);
  set.app->remove_option(set.app->get_option("--context"));
  set.app->footer(
      "\nAn empty value takes a setting away: `config set-context lab "
      "--token-file ''`.");
  const auto remove = AddPlainCommand<NameFlags>(
      config, "delete-context", "Forget a context", chosen, &DeleteContext);
  AddContextPositional(*remove.app, remove.flags->name);
}

}  // namespace paceline
