#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "services/cli/admin/admin_commands.h"
#include "services/cli/admin/client.h"
#include "services/cli/admin/completion.h"
#include "services/cli/admin/connection.h"
#include "services/cli/admin/resource_name.h"

namespace paceline {
namespace {

using Live = Completion::Live;

// Whoever presses the tab key does not wait longer.
constexpr char kCompletionPatience[] = "2s";

// The line is taken apart as typed: bash's own words end at '=' and ':', of
// which only the last part is replaced.
constexpr char kBash[] = R"sh(# bash completion of paceline:
#   source <(paceline completion bash)
_paceline() {
  local line=${COMP_LINE:0:COMP_POINT} word kept
  local -a words=() found=()
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  word=${words[${#words[@]} - 1]}
  mapfile -t found < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
  COMPREPLY=()
  if [[ ${found[0]:-} == :files ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "${word##*=}")
    compopt -o filenames 2>/dev/null
    return
  fi
  kept=${word%"${word##*[=:]}"}
  [[ ${COMP_WORDBREAKS} == *[=:]* ]] || kept=
  COMPREPLY=("${found[@]#"$kept"}")
  # What ends so goes on: mnist:DIR.
  [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[=:/] ]] &&
    compopt -o nospace 2>/dev/null
  return 0
}
complete -F _paceline paceline
)sh";

constexpr char kZsh[] = R"sh(#compdef paceline
# zsh completion of paceline:
#   source <(paceline completion zsh)
_paceline() {
  local -a found
  found=("${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ ${found[1]:-} == :files ]]; then
    compset -P '*='
    _files
    return
  fi
  [[ -n ${found[1]:-} ]] && compadd -- "${found[@]}"
}
if [[ ${funcstack[1]:-} == _paceline ]]; then
  _paceline "$@"
else
  compdef _paceline paceline
fi
)sh";

// No more are offered.
constexpr int64_t kNamesMax = 500;

// The last parts of the names in a response to a list, between the texts.
template <class Response>
absl::StatusOr<std::vector<std::string>> NamesIn(
    absl::StatusOr<Response> response, absl::string_view before = "",
    absl::string_view behind = "") {
  if (!response.ok()) return response.status();
  std::vector<std::string> names;
  for (const auto& resource : *ResourcesOf(*response)) {
    names.push_back(absl::StrCat(before, LastPart(resource.name()), behind));
  }
  return names;
}

absl::StatusOr<std::vector<std::string>> JobNames(
    Session& session, absl::string_view behind = "") {
  v1::ListJobsRequest request;
  request.set_parent(absl::StrCat("namespaces/", session.connection().space));
  request.set_order_by("name");
  return NamesIn(session.List(&JobsApi::ListJobs, request, kNamesMax), "",
                 behind);
}

// As JOB/CHECKPOINT, of the job that is typed; jobs before there is a slash.
absl::StatusOr<std::vector<std::string>> CheckpointNames(
    Session& session, const std::string& typed) {
  const size_t slash = typed.find('/');
  if (slash == std::string::npos) return JobNames(session, "/");
  v1::ListCheckpointsRequest request;
  PACELINE_ASSIGN_OR_RETURN(*request.mutable_parent(),
                            session.JobName(typed.substr(0, slash)));
  return NamesIn(session.List(&JobsApi::ListCheckpoints, request, kNamesMax),
                 typed.substr(0, slash + 1));
}

absl::StatusOr<std::vector<std::string>> ContextNames(Session& session) {
  PACELINE_ASSIGN_OR_RETURN(
      const ConfigFile config,
      ReadConfigFile(ConfigFilePath(session.console().environment)));
  std::vector<std::string> names;
  names.reserve(config.contexts.size());
  for (const auto& [name, settings] : config.contexts) names.push_back(name);
  return names;
}

absl::StatusOr<std::vector<std::string>> LiveNames(
    Session& session, const Completion& completion) {
  if (completion.live == Live::kContexts) return ContextNames(session);
  CommonFlags flags;
  for (const auto& [flag, value] : completion.flags) {
    const std::string name = flag.substr(flag.find_first_not_of('-'));
    if (name == "context") {
      flags.connection.context = value;
    } else if (name == "insecure-plaintext") {
      flags.connection.insecure_plaintext = true;
    } else {
      flags.connection.settings[name] = value;
    }
  }
  flags.connection.settings["request-timeout"] = kCompletionPatience;
  PACELINE_RETURN_IF_ERROR(session.Configure(flags));
  switch (completion.live) {
    case Live::kJobs:
      return JobNames(session);
    case Live::kWorkers:
      return NamesIn(session.List(&ClusterApi::ListWorkers,
                                  v1::ListWorkersRequest(), kNamesMax));
    case Live::kServers:
      return NamesIn(session.List(&ClusterApi::ListServers,
                                  v1::ListServersRequest(), kNamesMax));
    case Live::kCheckpoints:
      return CheckpointNames(session, completion.typed);
    default:
      return std::vector<std::string>();
  }
}

// A completion that fails offers nothing: there is nobody to read an error.
ExitCode RunComplete(Session& session, const CLI::App& root,
                     const std::vector<std::string>& typed) {
  const Completion completion = Complete(root, typed);
  if (completion.live == Live::kFiles) {
    return session.End(session.Write(":files\n"));
  }
  std::vector<std::string> words = completion.words;
  if (completion.live != Live::kNone) {
    const auto names = LiveNames(session, completion);
    for (const std::string& name :
         names.ok() ? *names : std::vector<std::string>()) {
      if (absl::StartsWith(name, completion.typed)) {
        words.push_back(absl::StrCat(completion.before, name));
      }
    }
  }
  std::string text;
  for (const std::string& word : words) absl::StrAppend(&text, word, "\n");
  return session.End(session.Write(text));
}

struct ScriptFlags {
  std::string shell;
};

absl::Status PrintScript(Session& session, const ScriptFlags& flags) {
  if (flags.shell == "bash") return session.Write(kBash);
  if (flags.shell == "zsh") return session.Write(kZsh);
  return absl::InvalidArgumentError(
      absl::StrCat("shell \"", flags.shell, "\": must be one of bash, zsh"));
}

}  // namespace

void AddCompletionCommands(CLI::App& root, ChosenCommand& chosen) {
  const auto script = AddPlainCommand<ScriptFlags>(
      root, "completion", "Print a script that completes commands and names",
      chosen, &PrintScript);
  script.app
      ->add_option("SHELL", script.flags->shell,
                   "The shell that is to complete: bash or zsh.")
      ->type_name("")
      ->required();
  script.app->footer(
      "\nExamples:\n"
      "  source <(paceline completion bash)\n"
      "  source <(paceline completion zsh)");

  CLI::App* complete = root.add_subcommand("__complete", "");
  complete->group("");
  complete->prefix_command();
  complete->set_help_flag();
  complete->callback([&chosen, &root, complete] {
    chosen.Choose([&chosen, &root, words = complete->remaining()] {
      return RunComplete(chosen.session(), root, words);
    });
  });
}

}  // namespace paceline
