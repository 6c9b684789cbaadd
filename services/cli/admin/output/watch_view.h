#ifndef PACELINE_SERVICES_CLI_ADMIN_OUTPUT_WATCH_VIEW_H_
#define PACELINE_SERVICES_CLI_ADMIN_OUTPUT_WATCH_VIEW_H_

#include <string>

#include "protos/paceline/v1/jobs.pb.h"
#include "services/cli/report_line.h"

namespace paceline {

// The events of a watch, as ProgressPrinter takes them and as lines. Pure.

ProgressReport ToReport(const v1::JobProgress& progress);
EvaluatedReport ToReport(const v1::AccuracyPoint& point);
DecisionReport ToReport(const v1::Decision& decision);

// "state RUNNING", "state FAILED: data not found".
std::string StateLine(const v1::Job& job);

// "checkpoint c1 READY: version 180, 5760 samples, 1.2 MiB in 0.42 s".
std::string CheckpointLine(const v1::Checkpoint& checkpoint);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_ADMIN_OUTPUT_WATCH_VIEW_H_
