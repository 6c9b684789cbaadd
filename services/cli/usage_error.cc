#include "services/cli/usage_error.h"

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
};

Found FindCommand(const CLI::App& app) {
  Found found = {&app, app.get_name()};
  while (!found.command->get_subcommands().empty()) {
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

std::string WhatIsWrong(const Found& found, const CLI::ParseError& error) {
  const std::string word = LeftOver(*found.command);
  // Whatever else is wrong may come from that.
  if (absl::StartsWith(word, "-")) {
    const std::string flag = word.substr(0, word.find('='));
    return absl::StrCat(found.typed, " has no flag ", flag,
                        Meant(flag, FlagsOf(*found.command), ""));
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
  const std::vector<std::string> commands = CommandsOf(*found.command);
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
