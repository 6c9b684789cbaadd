#ifndef PACELINE_SERVICES_CLI_PROGRAM_QUESTION_H_
#define PACELINE_SERVICES_CLI_PROGRAM_QUESTION_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "protos/paceline/v1/types.pb.h"
#include "services/cli/program_environment.h"

namespace paceline {

// What is asked, and how.
struct ProgramQuestion {
  std::string command;  // For a shell.
  Environment environment;
  std::string log;  // A file that gets what the program prints.
  v1::JobSpec job;  // The program is told of it.
  absl::Duration patience = absl::Minutes(30);
  // Asked ten times a second; ends the question.
  std::function<bool()> stopped = [] { return false; };
};

// What a program says of itself.
struct ProgramAnswer {
  std::string optimizer;      // In a job's words; empty: it has none.
  double learning_rate = 0;   // Of that optimizer; 0: it does not say.
  int64_t train_samples = 0;  // Of an epoch.
};

// Starts a program, and kills it once it has said what it would train, so that
// nothing that stands behind its loop is done. CANCELLED: `stopped` said so;
// DEADLINE_EXCEEDED; everything else is the program's fault, and says how it
// ended and what it printed last.
absl::StatusOr<ProgramAnswer> AskProgram(const ProgramQuestion& question);

// `spec` with the answer wherever nobody has said anything.
v1::JobSpec FilledIn(v1::JobSpec spec, const ProgramAnswer& answer);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_PROGRAM_QUESTION_H_
