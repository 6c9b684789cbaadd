#include "services/cli/usage_error.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/cli/near_word.h"

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
    names.push_back(command->get_name());
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

std::string WhatIsWrong(const Found& found, const CLI::ParseError& error) {
  const std::vector<std::string> commands = CommandsOf(*found.command);
  const std::vector<std::string> left = found.command->remaining();
  if (left.empty()) {
    if (commands.empty()) return error.what();
    return absl::StrCat("say which command of ", found.typed, ": ",
                        absl::StrJoin(commands, ", "));
  }
  const std::string& first = left.front();
  if (absl::StartsWith(first, "-")) {
    const std::string flag = first.substr(0, first.find('='));
    return absl::StrCat(found.typed, " has no flag ", flag,
                        Meant(flag, FlagsOf(*found.command), ""));
  }
  if (commands.empty()) {
    return absl::StrCat(found.typed, " does not take \"", first, "\"");
  }
  return absl::StrCat(
      "there is no command \"", first, "\" of ", found.typed,
      Meant(first, commands,
            absl::StrCat("; there are ", absl::StrJoin(commands, ", "))));
}

}  // namespace

std::string UsageErrorText(const CLI::App& app, const CLI::ParseError& error) {
  const Found found = FindCommand(app);
  // Others name a flag and what is wrong with its value.
  const bool of_words =
      dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
      (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr &&
       !CommandsOf(*found.command).empty());
  return absl::StrCat(of_words ? WhatIsWrong(found, error) : error.what(),
                      " (see ", found.typed, " --help)");
}

}  // namespace paceline
