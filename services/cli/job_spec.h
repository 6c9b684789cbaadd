#ifndef PACELINE_SERVICES_CLI_JOB_SPEC_H_
#define PACELINE_SERVICES_CLI_JOB_SPEC_H_

#include <cstdint>
#include <string>

#include "protos/paceline/v1/types.pb.h"
#include "services/cli/local_options.h"

namespace paceline {

// The job of one run: `options` under `paradigm`, on data with `train_samples`
// samples an epoch.
v1::JobSpec MakeJobSpec(const LocalOptions& options,
                        const std::string& paradigm, int64_t train_samples);

// `spec` in proto JSON, every field written out, for the coordinator and for
// whoever looks into the run's folder.
std::string JobSpecJson(const v1::JobSpec& spec);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_JOB_SPEC_H_
