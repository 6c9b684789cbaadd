#ifndef PACELINE_SERVICES_CLI_PROGRAM_ENVIRONMENT_H_
#define PACELINE_SERVICES_CLI_PROGRAM_ENVIRONMENT_H_

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace paceline {

// Variables of a process, in place of those that it would inherit.
using Environment = std::map<std::string, std::string>;

// Where a program of the user's runs.
struct ProgramPlace {
  // What --threads says; nothing if it was not given.
  std::optional<int> threads;
  std::string device = "auto";  // As --device has it, checked.
  // The folder that holds the Python package `paceline`; empty: unknown.
  std::string python_folder;
};

// What a program's process needs beside what `inherited` gives it (getenv):
//   OMP_NUM_THREADS       one thread, unless somebody asked for more: several
//                         programs share this machine.
//   CUDA_VISIBLE_DEVICES  the cards of "cuda:N" or "cuda:N,cuda:M", none for
//                         "cpu": a script names no card.
//   PYTHONPATH            the package, behind what is there.
//   PYTHONUNBUFFERED      what it prints is in its log at once.
Environment ProgramEnvironment(
    const ProgramPlace& place,
    const std::function<const char*(const char*)>& inherited);

// The folder of the package in the tree that the programs in `bin_dir` were
// built in; empty if it is not there.
std::string PythonFolderOf(absl::string_view bin_dir);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_PROGRAM_ENVIRONMENT_H_
