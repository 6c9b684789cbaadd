#include "services/cli/usage_error.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "services/cli/near_word.h"
#include "services/cli/one_line.h"

namespace paceline {
namespace {

// The command that was found before the parser gave up, and how it is typed.
struct Found {
  const CLI::App* command;
  std::string typed;
  std::vector<const CLI::App*> above;  // Those whose subcommand it is.
};

Found FindCommand(const CLI::App& app) {
  Found found = {&app, app.get_name(), {}};
  while (!found.command->get_subcommands().empty()) {
    found.above.push_back(found.command);
    found.command = found.command->get_subcommands().front();
    absl::StrAppend(&found.typed, " ", found.command->get_name());
  }
  return found;
}

std::vector<std::string> CommandsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    // Without a group it is hidden.
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> FlagsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back(absl::StrCat("--", name));
    }
  }
  return names;
}

std::string Meant(const std::string& typed,
                  const std::vector<std::string>& words,
                  const std::string& otherwise) {
  const std::string near = NearWord(typed, words);
  return near.empty() ? otherwise : absl::StrCat("; did you mean ", near, "?");
}

// The first word that the parser had no use for; empty: none.
std::string LeftOver(const CLI::App& command) {
  for (const std::string& word : command.remaining()) {
    if (word != "--") return OneLine(word);
  }
  return "";
}

// Of a flag whose value is no number: what it wants. Its placeholder says so.
std::string NotANumber(const CLI::App& command, absl::string_view told) {
  const std::vector<std::string> parts = absl::StrSplit(told, " = ");
  const CLI::Option* const option = command.get_option_no_throw(parts[0]);
  if (parts.size() != 2 || option == nullptr) return std::string(told);
  const std::string name = option->get_type_name();
  const bool whole =
      name == "N" || name == "PORT" || name == "DAYS" || name == "SAMPLES";
  return absl::StrCat(parts[0], " ", OneLine(parts[1]), ": want a ",
                      whole ? "whole number" : "number");
}

// The first such word that stands before the command's last word, and the
// command that it stands behind; empty: none.
std::pair<std::string, std::string> LeftOverBefore(const Found& found) {
  std::string typed;
  for (const CLI::App* command : found.above) {
    absl::StrAppend(&typed, typed.empty() ? "" : " ", command->get_name());
    const std::string word = LeftOver(*command);
    if (!word.empty()) return {word, typed};
  }
  return {};
}

std::string NoSuchFlag(const Found& found, const std::string& flag) {
  return absl::StrCat(found.typed, " has no flag ", flag,
                      Meant(flag, FlagsOf(*found.command), ""));
}

std::string Misplaced(const Found& found, const std::string& word,
                      const std::string& place) {
  if (!absl::StartsWith(word, "-")) {
    return absl::StrCat("\"", word, "\" does not belong behind ", place);
  }
  const std::string flag = word.substr(0, word.find('='));
  if (found.command->get_option_no_throw(flag) == nullptr) {
    return NoSuchFlag(found, flag);
  }
  return absl::StrCat(flag, " has to stand behind the command: ", found.typed,
                      " ", flag);
}

std::string WhatIsWrong(const Found& found, const CLI::ParseError& error) {
  const std::string word = LeftOver(*found.command);
  // Whatever else is wrong may come from that.
  if (absl::StartsWith(word, "-")) {
    return NoSuchFlag(found, word.substr(0, word.find('=')));
  }
  const std::vector<std::string> commands = CommandsOf(*found.command);
  const auto [before, place] = LeftOverBefore(found);
  if (commands.empty() && !before.empty()) {
    return Misplaced(found, before, place);
  }
  absl::string_view told = error.what();
  if (absl::ConsumePrefix(&told, "Could not convert: ")) {
    return NotANumber(*found.command, told);
  }
  // Others name a flag and what is wrong with its value.
  const bool extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  if (!extra && dynamic_cast<const CLI::RequiredError*>(&error) == nullptr) {
    return error.what();
  }
  if (commands.empty()) {
    return extra ? absl::StrCat(found.typed, " does not take \"", word, "\"")
                 : error.what();
  }
  if (word.empty()) {
    return absl::StrCat("say which command of ", found.typed, ": ",
                        absl::StrJoin(commands, ", "));
  }
  return absl::StrCat(
      "there is no command \"", word, "\" of ", found.typed,
      Meant(word, commands,
            absl::StrCat("; there are ", absl::StrJoin(commands, ", "))));
}

}  // namespace

std::string UsageErrorText(const CLI::App& app, const CLI::ParseError& error) {
  const Found found = FindCommand(app);
  return absl::StrCat(WhatIsWrong(found, error), " (see ", found.typed,
                      " --help)");
}

}  // namespace paceline
