#ifndef PACELINE_SERVICES_CLI_ADMIN_POSITIONALS_H_
#define PACELINE_SERVICES_CLI_ADMIN_POSITIONALS_H_

#include "CLI/CLI.hpp"

namespace paceline {

// What several commands take without a flag: a name, or several in a vector.

// JOB, as session.JobName() reads it.
template <class Value>
CLI::Option* AddJobPositional(CLI::App& command, Value& value) {
  return command
      .add_option("JOB", value,
                  "The job: NAME in the namespace of -n, or "
                  "namespaces/NAMESPACE/jobs/NAME.")
      ->type_name("")
      ->required();
}

// CHECKPOINT, as CheckpointName() reads it without a job.
template <class Value>
CLI::Option* AddCheckpointPositional(CLI::App& command, Value& value) {
  return command
      .add_option("CHECKPOINT", value,
                  "The checkpoint: JOB/CHECKPOINT, or its full name.")
      ->type_name("")
      ->required();
}

// The flag of requests that are only checked.
inline void AddDryRunFlag(CLI::App& command, bool& value) {
  command.add_flag("--dry-run", value,
                   "Let the coordinator check the request, and change "
                   "nothing.");
}

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_POSITIONALS_H_
