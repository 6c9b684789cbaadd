#ifndef PACELINE_SERVICES_CLI_ADVISED_JOB_H_
#define PACELINE_SERVICES_CLI_ADVISED_JOB_H_

#include <string>

#include "CLI/App.hpp"
#include "services/cli/admin/session.h"
#include "services/cli/exit_code.h"
#include "services/cli/run_advise.h"

namespace paceline {

// By these flags `paceline advise` asks a coordinator, which it does for --job
// alone.
struct AdvisedJobFlags : CommonFlags {
  std::string job;
};

// Makes `advise`, which has the flags of AddAdviseFlags(), fill `flags` too.
void AddAdvisedJobFlags(CLI::App& advise, AdvisedJobFlags& flags);

// Where a job is given, fills `into` with its trace and, unless somebody gave
// one, with its batch size. Tells the error that it ends with: of the call, or
// that flags contradict each other.
ExitCode TakeAdvisedJob(Session& session, const CLI::App& advise,
                        const AdvisedJobFlags& flags, AdviseFlags& into);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADVISED_JOB_H_
