#ifndef PACELINE_SERVICES_CLI_ADMIN_COMPLETION_H_
#define PACELINE_SERVICES_CLI_ADMIN_COMPLETION_H_

#include <map>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"

namespace paceline {

// What could stand where the cursor is.
struct Completion {
  // Those that begin with what is typed.
  std::vector<std::string> words;
  // Names that have to be asked for, or files.
  enum class Live {
    kNone,
    kFiles,
    kJobs,
    kWorkers,
    kServers,
    kCheckpoints,
    kContexts
  };
  Live live = Live::kNone;
  // What precedes a live name in the word ("--context=").
  std::string before;
  // What is typed of it.
  std::string typed;
  // Flags and their values that stand on the line: "--address" and so on, by
  // their long names.
  std::map<std::string, std::string> flags;
};

// `words` is the command line after "paceline", up to the cursor; the last one
// is the word that is being typed and may be empty. Knows the commands and
// flags from `root` alone. Pure.
Completion Complete(const CLI::App& root,
                    const std::vector<std::string>& words);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_COMPLETION_H_
