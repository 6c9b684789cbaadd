#ifndef PACELINE_SERVICES_CLI_SIMULATION_REPORT_H_
#define PACELINE_SERVICES_CLI_SIMULATION_REPORT_H_

#include <string>
#include <vector>

#include "services/cli/compared_runs.h"
#include "services/cli/json_fields.h"
#include "services/cli/target_times.h"
#include "services/simulator/simulation_result.h"

namespace paceline {

// One element of "runs", in the shape of `paceline local -o json`: the fields
// of a real run, those that a simulation does not know null or 0, and
// "virtual": true. Seconds are virtual.
Json SimulationRun(const SimulationResult& result);

// "[bsp] 312.4 virtual s, accuracy 0.9812, target after 201.7 s"; of several
// `targets` each: "0.95 after 150 s, 0.98 after 201.7 s".
std::string SimulationLine(const SimulationResult& result,
                           const std::vector<TargetTime>& targets);

// What a person wants to see of such elements: a line per run, then what
// happened on the way, and in words who reached the target first.
std::string SimulationTable(const std::vector<Json>& runs);

// The same of paradigms with several runs: medians, with the least and the
// most.
std::string RepeatedSimulationTable(const std::vector<ComparedRuns>& results);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_SIMULATION_REPORT_H_
