#include "services/cli/program_flags.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/plain_name.h"
#include "common/status.h"

namespace paceline {
namespace {

// "train.py" of "'jobs/train.py'".
absl::string_view BaseName(absl::string_view word) {
  while (!word.empty() && (word.front() == '\'' || word.front() == '"')) {
    word.remove_prefix(1);
  }
  while (!word.empty() && (word.back() == '\'' || word.back() == '"')) {
    word.remove_suffix(1);
  }
  return word.substr(word.rfind('/') + 1);
}

// Whether it looks like a script: "train.py", but not "python3.11".
bool IsScript(absl::string_view base_name) {
  const size_t dot = base_name.rfind('.');
  return dot != absl::string_view::npos && dot > 0 &&
         dot + 1 < base_name.size() && absl::ascii_isalpha(base_name[dot + 1]);
}

// The word that says best what is started, without its folder and its end.
absl::string_view TellingWord(absl::string_view command) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(command, absl::ByAnyChar(" \t\n"), absl::SkipEmpty());
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "-m" && i + 1 < words.size()) {
      const absl::string_view module = BaseName(words[i + 1]);
      return module.substr(module.rfind('.') + 1);
    }
    const absl::string_view name = BaseName(words[i]);
    if (words[i].front() != '-' && IsScript(name)) {
      return name.substr(0, name.rfind('.'));
    }
  }
  // A variable may stand before the program: "DEPTH=18 ./train".
  for (const absl::string_view word : words) {
    if (word.find('=') == absl::string_view::npos) return BaseName(word);
  }
  return "";
}

// Refuses flags that mean nothing without a program.
absl::Status CheckNoneGiven(const TypedFlags& typed) {
  for (const char* const flag : {"--program-name", "--argument"}) {
    if (typed.contains(flag)) {
      return absl::InvalidArgumentError(
          absl::StrCat(flag, " needs a --program"));
    }
  }
  return absl::OkStatus();
}

// Refuses flags of built-in models.
absl::Status CheckOthers(const TypedFlags& typed) {
  constexpr std::pair<const char*, const char*> kOfModels[] = {
      {"--model", "the program brings its own model"},
      {"--precision", "the program decides how its GPU computes"}};
  for (const auto& [flag, why] : kOfModels) {
    if (typed.contains(flag)) {
      return absl::InvalidArgumentError(
          absl::StrCat(flag, " is for built-in models: with --program, ", why));
    }
  }
  return absl::OkStatus();
}

}  // namespace

void AddProgramFlags(CLI::App& command, ProgramFlags& flags) {
  command
      .add_option("--program", flags.command,
                  "Train with your own program instead of a built-in model "
                  "(docs/own-models.md). The command, as \"python3 train.py\", "
                  "is started for every worker and for the evaluator. "
                  "Default: none.")
      ->default_str("")
      ->type_name("COMMAND");
  command
      .add_option("--program-name", flags.name,
                  "The program's name in the job. Default: made from its "
                  "command.")
      ->default_str("")
      ->type_name("NAME");
  command
      .add_option("--argument", flags.arguments,
                  "An argument for the program. May be given again.")
      ->allow_extra_args(false)
      ->default_str("")
      ->type_name("KEY=VALUE");
}

std::string ProgramNameOf(absl::string_view command) {
  std::string name;
  for (const char c : TellingWord(command)) {
    const bool plain = absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                       c == '_' || c == '.';
    if (plain || !name.empty()) name.push_back(plain ? c : '-');
  }
  const size_t first = name.find_first_not_of("-_.");
  name.erase(0, first == std::string::npos ? name.size() : first);
  name.resize(std::min(name.size(), kPlainNameMax));
  return name.empty() ? "program" : name;
}

absl::StatusOr<std::optional<LocalProgram>> ParseProgramFlags(
    const ProgramFlags& flags, const TypedFlags& typed) {
  if (!typed.contains("--program") && flags.command.empty()) {
    PACELINE_RETURN_IF_ERROR(CheckNoneGiven(typed));
    return std::nullopt;
  }
  if (absl::StripAsciiWhitespace(flags.command).empty()) {
    return absl::InvalidArgumentError(
        "--program is empty: give the command that starts it, as "
        "\"python3 train.py\"");
  }
  PACELINE_RETURN_IF_ERROR(CheckOthers(typed));
  if (typed.contains("--program-name")) {
    PACELINE_RETURN_IF_ERROR(CheckPlainName("--program-name", flags.name));
  }
  return LocalProgram{flags.command, flags.name.empty()
                                         ? ProgramNameOf(flags.command)
                                         : flags.name};
}

}  // namespace paceline
